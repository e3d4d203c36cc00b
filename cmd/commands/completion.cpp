// podctl completion SHELL, and the hidden `podctl __complete`, which the scripts ask for words.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/command_table.h"
#include "cmd/completing.h"
#include "cmd/views/state_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/pod_target.h"
#include "plans/fleet/started_jobs.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/ssh/transport.h"
#include "providers/tar/remote_texts.h"

namespace podctl {
namespace {

// What may be typed next is asked of the podctl on the PATH, not of the one that was typed: a
// folder's own `./podctl` is not run because somebody looked for its flags. The answer is text: its
// first line says whether files belong there, the others are the words, each with what help says of
// it behind a tab. No line of it is ever evaluated.
constexpr std::string_view kBash =
    R"sh(# bash completion for podctl: source <(podctl completion bash)
_podctl() {
  local -a words=()
  local rest="$COMP_LINE" word i
  # Words that bash has cut at : and = are put together again.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if ((i > 0)) && [[ $rest == "$word"* && -n $word ]]; then
      words[${#words[@]} - 1]+="$word"
    else
      words+=("$word")
      rest="${rest#"${rest%%[![:blank:]]*}"}"
    fi
    rest="${rest#"$word"}"
  done
  COMPREPLY=()
  local kind=""
  while IFS= read -r word; do
    if [[ -z $kind ]]; then kind="$word"; else COMPREPLY+=("$word"); fi
  done < <(command podctl __complete bash "$COMP_WORDBREAKS" -- "${words[@]:1}" 2>/dev/null)
  if [[ $kind == files ]]; then
    compopt -o default 2>/dev/null
  elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/:=] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _podctl podctl
)sh";

constexpr std::string_view kZsh =
    R"sh(#compdef podctl
# zsh completion for podctl: source <(podctl completion zsh), after compinit
_podctl() {
  local -a lines begun whole begun_shown whole_shown
  local line word shown
  lines=("${(@f)$(command podctl __complete zsh none -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ ${lines[1]} == files ]]; then
    _files
    return
  fi
  for line in "${(@)lines[2,-1]}"; do
    [[ -n $line ]] || continue
    word="${line%%$'\t'*}"
    shown="$word"
    [[ $line == *$'\t'* ]] && shown="$word  -- ${line#*$'\t'}"
    if [[ $word == *[/:=] ]]; then
      begun+=("$word") begun_shown+=("$shown")
    else
      whole+=("$word") whole_shown+=("$shown")
    fi
  done
  ((${#begun})) && compadd -S '' -l -d begun_shown -a begun
  ((${#whole})) && compadd -l -d whole_shown -a whole
  return 0
}
compdef _podctl podctl
)sh";

constexpr std::string_view kFish =
    R"sh(# fish completion for podctl: podctl completion fish | source
function __podctl_complete
    set -l before (commandline -opc)
    set -l lines (command podctl __complete fish none -- $before[2..-1] (commandline -ct) 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $lines[2..-1]
    end
end
complete -c podctl -e
complete -c podctl -f -a '(__podctl_complete)'
)sh";

struct CompletionOptions {
  std::string shell;
};

int RunCompletion(Context& context, const CompletionOptions& options) {
  context.streams().out << (options.shell == "zsh"    ? kZsh
                            : options.shell == "fish" ? kFish
                                                      : kBash);
  return 0;
}

constexpr Flag kCompletionFlags[] = {
    Required(OneOf("bash|zsh|fish",
                   OneValue<&CompletionOptions::shell>("SHELL", "", "bash, zsh or fish"))),
};

// ---- podctl __complete SHELL BREAKS -- WORD…

// A person waits with a hand on the keyboard.
constexpr std::chrono::milliseconds kPatience{2'500};
constexpr std::uint64_t kMostBytes = 256 << 10;

class Lines final : public ssh::Observer {
 public:
  void OnLine(std::size_t, ssh::Stream stream, std::string_view line) override {
    if (stream == ssh::Stream::kOut) lines.emplace_back(line);
  }
  void OnPhase(std::size_t, ssh::Phase) override {}

  std::vector<std::string> lines;
};

// What is in a folder of a worker: nothing where that cannot be said soon. Only a worker whose host
// key is known is asked.
std::vector<std::string> ListOnWorker(ssh::Transport& transport, WorkerAccess worker,
                                      const std::string& folder) {
  if (worker.host_keys.empty() && !worker.use_openssh) return {};
  worker.trust_first_use = false;
  ssh::Job job;
  job.worker = std::move(worker);
  job.command = tar::ListCommand(folder);
  job.ending = "exit 0";
  ssh::Limits limits;
  limits.connect = limits.first_byte = limits.handshake = limits.auth = limits.command = kPatience;
  limits.retry = limits.auth_retry = std::chrono::milliseconds(0);
  limits.output = kMostBytes;
  std::stop_source late;
  limits.abandon = late.get_token();
  const std::jthread watch([&late](const std::stop_token& over) {
    const auto step = std::chrono::milliseconds(20);
    for (auto left = kPatience; left.count() > 0 && !over.stop_requested(); left -= step) {
      std::this_thread::sleep_for(step);
    }
    late.request_stop();
  });
  Lines said;
  const auto results = transport.Run({job}, limits, said, late.get_token());
  return !results.empty() && results.front().ok() ? std::move(said.lines)
                                                  : std::vector<std::string>();
}

class World final : public CompletionWorld {
 public:
  World(const GlobalOptions& global, Streams& streams)
      : global_(global), context_(global_, streams) {}

  std::vector<std::string> Addresses() override { return TextsOf(AddressesOf(state())); }
  std::vector<std::string> PlannedAddresses() override {
    const std::vector<std::string> known = Addresses();
    std::set<std::string> all(known.begin(), known.end());
    for (const Declared& declared : spec().declared) {
      all.insert(declared.address.Text());
      if (declared.wanted.As<PodSpec>() == nullptr) continue;
      for (const StepSpec& step : WantedPod(declared).bootstrap) {
        all.insert(StepAddress(declared.address.name, step.name).Text());
      }
    }
    return {all.begin(), all.end()};
  }
  std::vector<std::string> Jobs(const std::string& pod) override {
    std::set<std::string> names;
    for (const JobSpec& job : spec().jobs) {
      if (pod.empty() || job.pod == pod) names.insert(job.name);
    }
    if (!pod.empty()) {
      auto& wiring = context_.wiring();
      const StartedOnPods started(wiring.files(), wiring.environment(), wiring.StatePath());
      for (const StartedJob& job : started.On(pod).Load()) names.insert(job.name);
    }
    return {names.begin(), names.end()};
  }
  std::vector<std::string> Serials() override {
    std::vector<std::string> serials;
    if (IsElsewhere()) return serials;
    const auto history = context_.wiring().OpenStore()->History();
    if (!history) return serials;
    for (const HistoryEntry& entry : *history) serials.push_back(std::to_string(entry.serial));
    return serials;
  }
  std::vector<std::string> Workers(const std::string& pod) override {
    constexpr std::size_t kMost = 512;
    std::vector<std::string> numbers;
    const PodRecord* record = Pods(state()).Get(PodAddress(PodOf(pod)));
    if (record == nullptr) return numbers;
    for (const WorkerAccess& worker : AccessToWorkers(PodOf(pod), *record)) {
      if (numbers.size() == kMost) break;
      numbers.push_back(FormatWorkers({worker.index}, worker.per_slice));
    }
    return numbers;
  }
  std::vector<std::string> Local(const std::string& folder) override {
    auto names = context_.wiring().files().List(folder);
    if (!names) return {};
    for (std::string& name : *names) {
      const auto info = context_.wiring().files().Stat(folder + "/" + name);
      if (info && info->kind == FileInfo::Kind::kFolder) name += '/';
    }
    return *std::move(names);
  }
  std::vector<std::string> Remote(const std::string& pod, const std::string& workers,
                                  const std::string& folder) override {
    const PodRecord* record = Pods(state()).Get(PodAddress(pod));
    if (record == nullptr) return {};
    const PodTarget target = TargetOf(pod, *record, std::nullopt, context_.wiring().known_hosts());
    const auto chosen = SelectWorkers(target, workers, "0");
    if (!chosen || chosen->empty()) return {};
    return ListOnWorker(context_.wiring().ssh(), chosen->front(), folder);
  }

 private:
  // Of `run` the job is named, and with it the pod.
  std::string PodOf(const std::string& name) {
    if (Pods(state()).contains(PodAddress(name))) return name;
    for (const JobSpec& job : spec().jobs) {
      if (job.name == name) return job.pod;
    }
    return name;
  }
  // Nobody's network is used because of a Tab.
  bool IsElsewhere() { return IsStateUrl(context_.wiring().StatePath()); }
  const State& state() {
    if (!state_) {
      state_.emplace();
      if (!IsElsewhere()) {
        auto stored = context_.wiring().OpenStore()->Load();
        if (stored && stored->state) state_ = *std::move(stored->state);
      }
    }
    return *state_;
  }
  const Spec& spec() {
    if (!spec_) {
      Diagnostics ignored;
      spec_ = context_.wiring().ReadSpec(ignored);
    }
    return *spec_;
  }

  const GlobalOptions global_;
  Context context_;
  std::optional<State> state_;
  std::optional<Spec> spec_;
};

struct CompleteOptions {
  std::string shell;
  std::string breaks;
  std::vector<std::string> words;
};

int RunComplete(Context& context, const CompleteOptions& options) {
  const bool fish = options.shell == "fish";
  std::vector<std::string> words;
  TypedWord typed;
  // Where a word is cut is of interest only for : and =, at which bash cuts words that are one.
  std::string breaks;
  for (const char c : {':', '='}) {
    if (options.breaks.find(c) != std::string::npos) breaks += c;
  }
  for (std::size_t i = 0; i < options.words.size(); ++i) {
    const bool last = i + 1 == options.words.size();
    typed = ReadTypedWord(options.words[i], breaks);
    words.push_back(fish && !last ? options.words[i] : typed.text);
  }
  const Completions completions = CompletionsFor(words, [&](const GlobalOptions& global) {
    return std::make_unique<World>(global, context.streams());
  });
  std::ostream& out = context.streams().out;
  out << (completions.files ? "files\n" : "words\n");
  for (const Completion& completion : completions.words) {
    if (options.shell == "bash") {
      if (const std::string word = ForBash(typed, completion.text); !word.empty())
        out << word << "\n";
    } else {
      out << completion.text << (completion.help.empty() ? "" : "\t") << completion.help << "\n";
    }
  }
  return 0;
}

constexpr Flag kCompleteFlags[] = {
    Required(OneOf("bash|zsh|fish", OneValue<&CompleteOptions::shell>("SHELL", "", "which asks"))),
    Required(OneValue<&CompleteOptions::breaks>("BREAKS", "", "where it cuts words")),
    BehindDashes(true, ManyValues<&CompleteOptions::words>("WORD", "", "of the line, so far")),
};

}  // namespace

const Command commands::kCompletion("completion", "print a shell's completion script",
                                    kCompletionFlags, RunCompletion, nullptr, NoState);
const Command commands::kComplete("__complete", "say what may be typed next", kCompleteFlags,
                                  RunComplete, nullptr, NoState);

}  // namespace podctl
