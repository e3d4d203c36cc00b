#include "cmd/commands/pod_rounds.h"

namespace podctl {

void ShowSilent(const std::vector<WorkerAnswer>& answers, const KnownPods& pods, Streams& streams) {
  const std::string text = SilenceText(answers);
  if (text.empty()) return;
  streams.err << text;
  std::vector<ssh::WorkerResult> results;
  for (const WorkerAnswer& answer : answers) results.push_back(answer.result);
  const std::string advice = pods.SilenceAdvice(answers.front().worker.pod, results);
  if (!advice.empty()) streams.err << advice << "\n";
}

}  // namespace podctl
