#include "cmd/commands/pod_rounds.h"

#include "cmd/commands/pod_target.h"
#include "cmd/commands/refused_key.h"

namespace podctl {

PodRounds::PodRounds(Wiring& wiring, const std::string& address)
    : view_(wiring.streams(), wiring.clock(),
            [&wiring, address](const std::map<int, HostKeyText>& learned) {
              RememberHostKeys(wiring, address, learned);
            }),
      rounds_(wiring.ssh(), view_, wiring.interrupt().drain(), wiring.interrupt().leave()) {}

void ShowSilent(Wiring& wiring, const std::vector<WorkerAnswer>& answers) {
  const std::string text = SilenceText(answers);
  if (text.empty()) return;
  wiring.streams().err << text;
  std::vector<ssh::WorkerResult> results;
  for (const WorkerAnswer& answer : answers) results.push_back(answer.result);
  const std::string advice = SilenceAdvice(wiring, answers.front().worker.pod, results);
  if (!advice.empty()) wiring.streams().err << advice << "\n";
}

}  // namespace podctl
