#include "plans/kinds/pod/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/node_view.h"
#include "providers/base/text.h"
#include "state/jump_host.h"

namespace podctl {

void ChooseRoute(const PodRecord& record, bool has_external, WorkerAccess* worker) {
  if (record.ssh.external_address && !has_external && !record.ssh.iap) {
    worker->no_route =
        "it has no external address, and the spec says `address: external` (`networkConfig: "
        "{enableExternalIps: true}` gives it one)";
    return;
  }
  if (record.ssh.iap) {
    const auto name = record.vm_names.find(worker->index);
    if (name == record.vm_names.end() || !IsPlainName(name->second)) {
      worker->no_route =
          "IAP needs the name of the worker's VM, and the API shows no guest attribute "
          "`hostname` for it (a VM that boots has none yet; guest attributes may be turned off)";
      return;
    }
    worker->through = {"gcloud",
                       "compute",
                       "start-iap-tunnel",
                       name->second,
                       std::to_string(worker->port),
                       "--listen-on-stdin",
                       "--project=" + record.project,
                       "--zone=" + record.zone,
                       "--verbosity=warning"};
    return;
  }
  if (!record.ssh.proxy_jump) return;
  const auto jump = ParseJumpHost(*record.ssh.proxy_jump);
  if (!jump) {
    worker->no_route = fmt::format("`{}` is no host to jump through", *record.ssh.proxy_jump);
    return;
  }
  const bool v6 = worker->host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + worker->host + "]" : worker->host;
  worker->through = {"ssh", "-W", fmt::format("{}:{}", host, worker->port), "-o", "BatchMode=yes"};
  if (jump->port != 0) {
    worker->through.insert(worker->through.end(), {"-p", std::to_string(jump->port)});
  }
  worker->through.push_back(jump->target);
}

bool LacksAttributes(const PodRecord& record) {
  const std::size_t workers = WorkerCount(record.observed);
  return record.host_keys.size() < workers || (record.ssh.iap && record.vm_names.size() < workers);
}

std::string AttributesQuery(const SshSettings& ssh) {
  return ssh.iap ? "" : "hostkeys/";
}

void DistrustUnread(const Error& error, std::vector<WorkerAccess>* workers) {
  if (error.code == ErrorCode::kNotFound) return;
  for (WorkerAccess& worker : *workers) {
    if (!worker.host_keys.empty()) continue;
    worker.distrust = fmt::format(
        "the API did not tell it ({}), and a first one is trusted only where the API holds none: "
        "run the command again once the API answers, or put the key into ~/.ssh/known_hosts",
        error.message);
  }
}

std::map<int, std::string> VmNamesOf(const std::vector<WorkerAttributes>& workers) {
  std::map<int, std::string> names;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    for (const GuestAttribute& attribute : workers[i]) {
      if (attribute.key == "hostname") names[static_cast<int>(i)] = attribute.value;
    }
  }
  return names;
}

namespace {

struct Question {
  Address address;
  const PodRecord* record;
  std::optional<Result<std::vector<WorkerAttributes>>> answer;
};

void AskAll(Provider& provider, int parallelism, const std::stop_token& stop,
            std::vector<Question>* questions) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> askers;
  const auto most = static_cast<std::size_t>(std::max(1, parallelism));
  for (std::size_t i = 0; i < std::min(questions->size(), most); ++i) {
    askers.emplace_back([&] {
      for (std::size_t at = next++; at < questions->size() && !stop.stop_requested(); at = next++) {
        Question& input = (*questions)[at];
        input.answer = BackingOf(*input.record).AskWorkers(provider, *input.record, stop);
      }
    });
  }
}

// The same keys in another order are no change.
bool Differ(std::vector<HostKeyText> known, std::vector<HostKeyText> shown) {
  std::sort(known.begin(), known.end());
  std::sort(shown.begin(), shown.end());
  return known != shown;
}

}  // namespace

void TakeRenewedKeys(Provider& provider, int parallelism, const std::stop_token& stop, State* state,
                     std::vector<std::string>* notes) {
  std::vector<Question> questions;
  for (const auto& [address, record] : Pods(*state)) {
    // What has the name of a node that is gone may be another state's.
    if (record.observed.is_null()) continue;
    if (record.exists() && !record.host_keys.empty()) questions.push_back({address, &record, {}});
  }
  AskAll(provider, parallelism, stop, &questions);
  for (const Question& input : questions) {
    if (!input.answer || !*input.answer) continue;
    PodRecord& record = Pods(*state)[input.address];
    std::vector<int> renewed;
    for (auto& [worker, keys] : HostKeysOf(**input.answer)) {
      auto& known = record.host_keys[worker];
      if (!Differ(known, keys)) continue;
      known = std::move(keys);
      renewed.push_back(worker);
    }
    if (renewed.empty()) continue;
    record.host_keys_source = "guestAttributes";
    notes->push_back(fmt::format(
        "{}: the API shows new host keys for {} ({}): they are the pinned ones from now on",
        input.address, Plural(renewed.size(), "worker"), FormatRanges(renewed)));
  }
}

}  // namespace podctl
