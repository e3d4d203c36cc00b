#include "cmd/views/auth_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cmd/views/documents.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

std::string KindOf(const std::string& type) {
  static const std::map<std::string, std::string> kKinds = {
      {"access_token", "an access token"},
      {"service_account", "a service account's key"},
      {"authorized_user", "a user's login"},
      {"external_account", "workload identity federation"},
      {"external_account_authorized_user", "a user's login by workforce federation"},
      {"impersonated_service_account", "an impersonated service account"},
      {"metadata_server", "this machine's service account"},
      {"gcloud", "gcloud's login"}};
  const auto it = kKinds.find(type);
  return it == kKinds.end() ? type : it->second;
}

std::string Validity(const AuthReport& report) {
  const auto& expires = report.status.expires;
  if (!expires) return "not known";
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(*expires - report.now);
  if (left.count() <= 0) return fmt::format("{} (expired)", FormatTimestamp(*expires));
  return fmt::format("{} (for {})", FormatTimestamp(*expires), FormatDuration(left));
}

std::string QuotaWords(const gcp::CredentialStatus& status) {
  if (status.quota_project.empty()) return "none";
  return fmt::format("{} (from {})", status.quota_project, status.quota_from);
}

}  // namespace

bool IsUsable(const AuthReport& report) {
  // Of the first two places what is there is sent wherever it goes: one that is wrong fails.
  constexpr std::size_t kGivenTokens = 2;
  return !report.status.error || (report.on_loopback && report.status.looks.size() > kGivenTokens);
}

std::string AuthText(const AuthReport& report) {
  const gcp::CredentialStatus& status = report.status;
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<15}{}\n", name, VisibleControls(value));
  };
  if (!status.error) {
    line("Credentials", KindOf(status.type));
    if (!status.file.empty()) line("File", status.file);
    line("Account", status.account.empty() ? "not known" : status.account);
    line("Valid until", Validity(report));
    line("Quota project", QuotaWords(status));
    text += "\n";
  }
  text += "Looked for, in this order:\n";
  std::size_t width = 0;
  for (const gcp::Look& look : status.looks) width = std::max(width, look.place.size());
  for (const gcp::Look& look : status.looks) {
    const char* mark = status.error ? "  <- gives no token" : "  <- used";
    text += fmt::format("  {:<{}}  {}{}\n", look.place, width, VisibleControls(look.finding),
                        &look == &status.looks.back() ? mark : "");
  }
  if (report.on_loopback) {
    text += fmt::format(
        "\n{} is on this machine and needs no token: only one of the first two places is sent.\n",
        VisibleControls(report.endpoint));
  }
  return text;
}

Value AuthDocument(const AuthReport& report) {
  const gcp::CredentialStatus& status = report.status;
  Value credentials;
  if (!status.type.empty()) {
    credentials =
        Value::Map{{"type", status.type},
                   {"file", OrNull(status.file)},
                   {"account", OrNull(status.account)},
                   {"valid_until", OrNull(status.expires ? FormatTimestamp(*status.expires) : "")},
                   {"quota_project", OrNull(status.quota_project)},
                   {"quota_project_from", OrNull(status.quota_from)}};
  }
  const auto look = [&](const gcp::Look& each) {
    return Value::Map{{"place", each.place},
                      {"finding", each.finding},
                      {"used", !status.error && &each == &status.looks.back()}};
  };
  Value error;
  if (status.error) {
    error = Value::Map{{"message", status.error->message}, {"hint", status.error->hint}};
  }
  return Value::Map{{"endpoint", report.endpoint},
                    {"endpoint_needs_token", !report.on_loopback},
                    {"credentials", credentials},
                    {"looked_for", ListOf(status.looks, look)},
                    {"error", error}};
}

}  // namespace podctl
