#include "plans/session/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "plans/spec/references.h"
#include "providers/base/foreign_text.h"
#include "providers/base/redactor.h"

namespace podctl {
namespace {

Result<SecretValue> ReadText(Secrets& secrets, const std::string& name, std::stop_token stop) {
  auto value = secrets.Access(name, std::move(stop));
  if (!value) return value;
  const bool is_text = FindInvalidUtf8(value->bytes) == std::string::npos &&
                       value->bytes.find('\0') == std::string::npos;
  if (is_text) return value;
  return MakeError(ErrorCode::kInvalidArgument,
                   "it is no UTF-8 text, and a node's metadata holds only that",
                   "keep it as text, such as base64, and decode it on the workers");
}

}  // namespace

SecretTexts ReadSecrets(Secrets& secrets, const std::set<std::string>& names, int parallelism,
                        const std::stop_token& stop) {
  SecretTexts texts;
  std::vector<SecretTexts::value_type*> asked;
  for (const std::string& name : names) {
    asked.push_back(&*texts.emplace(name, SecretValue{}).first);
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < asked.size(); i = next++) {
      asked[i]->second = ReadText(secrets, asked[i]->first, stop);
    }
  };
  const auto threads =
      std::min<std::size_t>(asked.size(), static_cast<std::size_t>(std::max(1, parallelism)));
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  helpers.clear();
  return texts;
}

std::set<std::string> SecretsOf(const Spec& spec) {
  std::set<std::string> names;
  for (const PodSpec* pod : DeclaredPods(spec)) {
    for (const auto& [key, entry] : pod->metadata) {
      if (entry.secret) names.insert(*entry.secret);
    }
  }
  return names;
}

Diagnostics FillSecrets(const SecretTexts& texts, Spec* spec) {
  Diagnostics problems;
  std::set<std::string> reported;  // where many pods have it, once
  for (PodSpec* pod : EditPods(spec)) {
    for (auto& [key, entry] : pod->metadata) {
      if (!entry.secret) continue;
      const Result<SecretValue>& value = texts.at(*entry.secret);
      if (value) {
        FillSecret(*value, &entry);
      } else if (reported.insert(*entry.secret).second) {
        problems.Add({.summary = fmt::format("the secret {} cannot be read: {}", *entry.secret,
                                             value.error().message),
                      .place = entry.place,
                      .context = fmt::format("pods.{}.metadata.{}", pod->name, key),
                      .detail = value.error().hint});
      }
    }
  }
  return problems;
}

void HideSensitive(const Spec& spec) {
  for (const auto& [name, variable] : spec.variables) {
    if (variable.sensitive) HideInErrors(variable.text);
  }
  const auto nobody = [](const Address&) -> const Value* { return nullptr; };
  for (const PodSpec* pod : DeclaredPods(spec)) {
    for (const auto& [key, entry] : pod->metadata) {
      if (!entry.sensitive) continue;
      if (const auto text = RenderText(entry.text, nobody)) HideInErrors(*text);
    }
  }
}

void FillSecret(const SecretValue& value, MetadataEntry* entry) {
  HideInErrors(value.bytes);
  entry->text = EscapeTemplate(value.bytes);
  entry->secret = value.name;
}

}  // namespace podctl
