#include "cmd/examples.h"

#include <algorithm>

namespace podctl {
namespace {

// Those of one command stand together.
constexpr Example kExamples[] = {
    {"init", "podctl init", "the smallest spec, in this folder"},
    {"init", "podctl init --template jax --project my-project --zone us-central2-b train",
     "another one, with its place, in the folder train"},
    {"init",
     "podctl init --from-command 'gcloud compute tpus tpu-vm create x --zone=us-central2-b "
     "--accelerator-type=v4-8 --version=tpu-ubuntu2204-base'",
     "from the line that is typed today"},
    {"validate", "podctl validate", "the spec in this folder"},
    {"validate", "podctl validate -f specs -R --var team=vision",
     "all specs of a folder, with a variable"},
    {"schema", "podctl schema > podctl.schema.json", "what `podctl init` puts beside a spec"},
    {"plan", "podctl plan", "what apply would do"},
    {"plan", "podctl plan --out plan.bin --detailed-exitcode",
     "keep it for apply; exit 2 when there are changes"},
    {"plan", "podctl plan --target pod.research", "one pod, and what it depends on"},
    {"apply", "podctl apply", "show the plan, ask, and do it"},
    {"apply", "podctl apply plan.bin", "do what was reviewed, and nothing else"},
    {"apply", "podctl apply --auto-approve --replace bootstrap.research.jupyter",
     "run a step again on all its workers"},
    {"destroy", "podctl destroy", "everything that the state knows"},
    {"destroy", "podctl destroy --target pod.research", "one pod, and what depends on it"},
    {"watch", "podctl watch", "until Ctrl-C"},
    {"watch", "podctl watch --once --detailed-exitcode", "one look, for cron"},
    {"show", "podctl show", "the state"},
    {"show", "podctl show --json plan.bin", "a saved plan, as terraform shows one"},
    {"status", "podctl status", "a table for people"},
    {"status", "podctl status --json", "nodes, workers and their addresses for programs"},
    {"output", "podctl output", "all of them"},
    {"output", "podctl output --raw address", "one value, for a script"},
    {"output", "podctl output --json | jq -r .address.value", "the same by way of JSON"},
    {"exec", "podctl exec research -- hostname", "on all workers"},
    {"exec", "podctl exec research --worker 0,2-3 --gather -- pip list",
     "equal outputs are shown once"},
    {"exec", "podctl exec research --detach train -- python3 train.py",
     "a job that outlives the connection"},
    {"ssh", "podctl ssh research --worker 3", "a shell on worker 3"},
    {"ssh", "podctl ssh research -t -- htop", "one program with a terminal"},
    {"cp", "podctl cp ./src research:~/code", "to all workers"},
    {"cp", "podctl cp 'research/0:~/logs/*.txt' .", "from worker 0"},
    {"tunnel", "podctl tunnel research 8888", "http://127.0.0.1:8888 is port 8888 of worker 0"},
    {"tunnel", "podctl tunnel research 9000:8888 --worker 1",
     "from another local port, to another worker"},
    {"run", "podctl run train", "a job of the spec"},
    {"run", "podctl run train --detach -- --lr 0.1", "leave it running, with more arguments"},
    {"doctor", "podctl doctor research", "all workers"},
    {"drain", "podctl drain research --worker 2", "one worker alone"},
    {"jobs", "podctl jobs research", "what runs, and what has ended"},
    {"logs", "podctl logs research train --follow", "go on with what comes"},
    {"kill", "podctl kill research train", "on all workers"},
    {"state", "podctl state list", "all addresses"},
    {"state", "podctl state mv pod.a pod.b", "another name, the same node"},
    {"state init", "podctl state init --location europe-west4", "a bucket in that region"},
    {"state list", "podctl state list", "all addresses"},
    {"state list", "podctl state list pod.research", "one pod and its steps"},
    {"state show", "podctl state show pod.research", "what is remembered of it"},
    {"state mv", "podctl state mv pod.a pod.b", "another name, the same node"},
    {"state rm", "podctl state rm --dry-run pod.research", "what would be forgotten"},
    {"state pull", "podctl state pull", "to standard output"},
    {"state push", "podctl state push backup.json", "from a file"},
    {"state history", "podctl state history", "the generations that are kept"},
    {"state restore", "podctl state restore 41", "what was saved as serial 41"},
    {"state diff", "podctl state diff 41", "what has changed since serial 41"},
    {"state diff", "podctl state diff 41 42", "what the run that made serial 42 did"},
    {"state migrate", "podctl state migrate --to gs://my-bucket/pods",
     "from a file to a bucket, where several can work on it"},
    {"state migrate", "podctl state migrate --resume", "after it was interrupted"},
    {"import",
     "podctl import pod.research projects/my-project/locations/europe-west4-a/nodes/research",
     "by the full name of its node"},
    {"import", "podctl import --all --zone -", "all of a project's nodes, with one spec"},
    {"lock", "podctl lock status", "who holds the state"},
    {"lock status", "podctl lock status --json", "who holds the state, for a script"},
    {"unlock", "podctl unlock --if-stale", "if the run that holds it has died"},
    {"unlock", "podctl unlock 7d9f0c1e-3b5a-4c6d-8e2f-0a1b2c3d4e5f",
     "the ID that the error showed"},
    {"auth", "podctl auth status", "which account podctl uses"},
    {"auth status", "podctl auth status", "which credentials are used, and until when"},
    {"authorize", "podctl authorize --project my-project", "once for each project"},
    {"emulator", "podctl emulator",
     "then, elsewhere: export PODCTL_ENDPOINT=http://127.0.0.1:8470"},
    {"types", "podctl types --zone us-central2-b", "what one zone has"},
    {"versions", "podctl versions --zone us-central2-b", "what one zone has"},
    {"completion", "podctl completion bash", "for ~/.bashrc: source <(podctl completion bash)"},
    {"completion", "podctl completion zsh",
     "for ~/.zshrc, after compinit: source <(podctl completion zsh)"},
    {"completion", "podctl completion fish", "for config.fish: podctl completion fish | source"},
    {"version", "podctl version", "which podctl this is"},
    {"version", "podctl version --json", "with its commit, its build, and the libraries in use"},
    {"help", "podctl help state mv", "flags and examples of one command"},
};

}  // namespace

std::span<const Example> ExamplesOf(std::string_view command) {
  const std::span<const Example> all(kExamples);
  const auto is_of = [&](const Example& example) { return example.command == command; };
  const auto begin = std::find_if(all.begin(), all.end(), is_of);
  const auto end = std::find_if_not(begin, all.end(), is_of);
  return all.subspan(static_cast<std::size_t>(begin - all.begin()),
                     static_cast<std::size_t>(end - begin));
}

}  // namespace podctl
