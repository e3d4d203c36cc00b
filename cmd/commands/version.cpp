#include "cmd/commands/version.h"

#include "cmd/command.h"
#include "cmd/commands/emulator.h"
#include "cmd/views/documents.h"
#include "plans/engine/plan_file.h"
#include "providers/base/gzip.h"
#include "providers/base/json.h"
#include "providers/base/openssl_version.h"
#include "providers/http/curl_version.h"
#include "providers/ssh/libssh2/version.h"
#include "state/state_json.h"
#include "state/stores/journal_format.h"

namespace podctl {

LibraryVersions LoadedLibraries() {
  LibraryVersions libraries;
  const CurlVersion curl = VersionOfCurl();
  libraries["libcurl"] = curl.curl;
  libraries["libcurl_with"] = curl.with;
  libraries["libssh2"] = ssh::Libssh2Version();
  libraries["openssl"] = OpenSslVersion();
  libraries["zlib"] = ZlibVersion();
  libraries["yaml-cpp"] = kBuildFacts.yaml_cpp;
  // Of the emulator's light workers, with which podctl need not be built.
  if (const std::string libssh = EmulatorSshVersion(); !libssh.empty()) {
    libraries["libssh"] = libssh;
  }
  return libraries;
}

Value VersionDocument(const BuildFacts& facts, const LibraryVersions& libraries) {
  Value::Map versions;
  for (const auto& [name, version] : libraries) versions.emplace(name, OrNull(version));
  const std::string commit(facts.commit);
  return Value::Map{
      {"format_version", "1.0"},
      {"podctl_version", kVersion},
      {"commit", OrNull(commit)},
      {"modified", commit.empty() ? Value() : Value(facts.modified)},
      {"build", Value::Map{{"type", OrNull(std::string(facts.type))},
                           {"compiler", OrNull(std::string(facts.compiler))}}},
      {"libraries", std::move(versions)},
      // The newest that this podctl reads and writes.
      {"formats", Value::Map{{"state", kStateFormatVersion},
                             {"journal", kJournalFormatOfMoves},
                             {"plan", kPlanFormatVersion}}},
  };
}

namespace {

int RunVersion(Context& context, const NoOptions&) {
  Streams& streams = context.streams();
  if (streams.json) {
    streams.out << ToJson(VersionDocument(kBuildFacts, LoadedLibraries()), JsonStyle::kIndented)
                << "\n";
  } else {
    streams.out << "podctl " << kVersion << "\n";
  }
  return 0;
}

}  // namespace

const Command commands::kVersion("version", "show the version", {}, RunVersion, nullptr, NoState);

}  // namespace podctl
