#include "cmd/reporter.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cmd/interrupt.h"
#include "cmd/views/apply_view.h"
#include "cmd/views/json_events.h"
#include "cmd/views/markdown.h"
#include "cmd/views/output_view.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/snippet.h"
#include "cmd/views/watch_view.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

void ShowAsText(Streams& streams, const Diagnostics& diagnostics) {
  const SnippetStyle style{streams.color && streams.err_is_terminal, streams.width};
  const std::string text = FormatDiagnostics(diagnostics, style);
  if (!text.empty()) streams.err << text << std::flush;
}

// "alice@host (process 4711, podctl apply)".
std::string NameOfHolder(const LockInfo& holder) {
  if (holder.who.empty()) return "another run";
  const std::string what = holder.command.empty() ? holder.operation : holder.command;
  // Whoever waits for a pipeline looks at its page; its process has a container's number.
  std::string run = holder.run_url;
  if (run.empty() && holder.pid > 0) run = fmt::format("process {}", holder.pid);
  if (!run.empty()) run += ", ";
  return VisibleControls(fmt::format("{} ({}{})", holder.who, run, what));
}

// " --var token=…".
std::string VarFlags(const std::vector<std::string>& names) {
  std::string flags;
  for (const std::string& name : names) flags += fmt::format(" --var {}=…", name);
  return flags;
}

std::string WhyAgain(const std::vector<std::string>& names) {
  return fmt::format("A saved plan holds no sensitive values: apply has to be given {} again.",
                     Join(names, ", "));
}

class TextReporter : public Reporter {
 public:
  TextReporter(Streams& streams, Clock& clock, std::stop_token interrupted)
      : Reporter(streams, std::move(interrupted)), clock_(clock) {}

  void Show(const Diagnostics& diagnostics) override { ShowAsText(streams(), diagnostics); }
  void Note(const std::string& text) override { streams().err << text << "\n" << std::flush; }
  void TellInterrupted(const std::string& text) override { TextReporter::Note(text); }

  void ShowPlan(const Plan& plan, const State&, bool failed,
                const std::vector<std::string>& clauses) override {
    PlanViewOptions view;
    view.color = streams().color && streams().out_is_terminal;
    view.failed = failed;
    const std::string jobs = JobsText(clauses);
    streams().out << podctl::ShowPlan(plan, view) << (jobs.empty() ? "" : "\n" + jobs + "\n")
                  << std::flush;
  }
  // People see the digest here: till then nobody has to tell two plans apart.
  void TellSaved(const std::string& path, const std::vector<std::string>& again,
                 const std::string& digest) override {
    WriteSaved(streams().out, path, again, digest);
  }
  std::unique_ptr<EventSink> Progress() override { return MakeProgressView(streams(), clock_); }
  void ShowSummary(const ExecuteResult& result, bool destroy) override {
    ShowApplied(streams(), result, destroy);
  }
  void ShowOutputs(const State& state) override {
    const std::string text = OutputsText(state);
    if (!text.empty()) streams().out << "\nOutputs:\n\n" << text << std::flush;
  }
  std::unique_ptr<WatchAccount> Watch() override {
    return std::make_unique<WatchView>(streams(), clock_);
  }

 protected:
  // In terraform's words.
  void WriteSaved(std::ostream& stream, const std::string& path,
                  const std::vector<std::string>& again, const std::string& digest) const {
    stream << fmt::format(
        "\nSaved the plan to: {}\n\nTo perform exactly these actions, run the following "
        "command to apply:\n    podctl apply {}{}\n",
        path, ShellQuote(path), VarFlags(again));
    if (!again.empty()) stream << "\n" << WhyAgain(again) << "\n";
    stream << "\nDigest: " << digest << "\n" << std::flush;
  }

 private:
  Clock& clock_;
};

class MarkdownReporter final : public TextReporter {
 public:
  using TextReporter::TextReporter;

  void Show(const Diagnostics& diagnostics) override {
    for (const Diagnostic& diagnostic : diagnostics.items()) reported_.Add(diagnostic);
    TextReporter::Show(diagnostics);
  }
  void Note(const std::string& text) override {
    notes_.push_back(text);
    TextReporter::Note(text);
  }
  void ShowPlan(const Plan& plan, const State&, bool,
                const std::vector<std::string>& clauses) override {
    plan_ = &plan;
    for (std::string& note : JobNotes(clauses)) notes_.push_back(std::move(note));
  }
  void TellSaved(const std::string& path, const std::vector<std::string>& again,
                 const std::string& digest) override {
    WriteSaved(streams().err, path, again, digest);
  }
  void End() override { streams().out << MarkdownOf(plan_, reported_, notes_) << std::flush; }

 private:
  const Plan* plan_ = nullptr;
  Diagnostics reported_;
  std::vector<std::string> notes_;
};

class JsonReporter final : public Reporter {
 public:
  JsonReporter(Streams& streams, Clock& clock, std::stop_token interrupted)
      : Reporter(streams, std::move(interrupted)), clock_(clock), events_(streams, clock) {}

  void Begin() override {
    begun_ = true;
    events_.ShowVersion();
  }
  void Show(const Diagnostics& diagnostics) override {
    Diagnostics as_text;
    for (const Diagnostic& diagnostic : diagnostics.items()) {
      if (begun_ || diagnostic.severity == Severity::kError) {
        events_.ShowDiagnostic(diagnostic);
      } else {
        as_text.Add(diagnostic);
      }
    }
    ShowAsText(streams(), as_text);
  }
  void Note(const std::string& text) override {
    if (begun_) return events_.Log(text);
    streams().err << text << "\n" << std::flush;
  }
  void TellInterrupted(const std::string& text) override { events_.Log(text); }

  void ShowPlan(const Plan& plan, const State& base, bool failed,
                const std::vector<std::string>& clauses) override {
    events_.ShowPlan(plan, base, failed);
    if (const std::string jobs = JobsText(clauses); !jobs.empty()) events_.Log(jobs);
  }
  void TellDigest(const std::function<std::string()>& digest) override {
    events_.ShowDigest(digest());
  }
  void TellSaved(const std::string& path, const std::vector<std::string>& again,
                 const std::string&) override {
    events_.Log("Saved the plan to: " + path);
    if (!again.empty()) events_.Log(WhyAgain(again));
  }
  std::unique_ptr<EventSink> Progress() override {
    return std::make_unique<JsonEvents>(streams(), clock_);
  }
  void ShowSummary(const ExecuteResult& result, bool destroy) override {
    events_.ShowSummary(result, destroy ? "destroy" : "apply");
  }
  void ShowOutputs(const State& state) override { events_.ShowOutputs(OutputsDocument(state)); }
  std::unique_ptr<WatchAccount> Watch() override {
    return std::make_unique<JsonEvents>(streams(), clock_);
  }

 private:
  Clock& clock_;
  JsonEvents events_;
  bool begun_ = false;
};

}  // namespace

void Reporter::ShowError(const std::string& summary, const Error& error) {
  failure_ = error.code;
  Diagnostics diagnostics;
  diagnostics.Add(DiagnosticOf(summary, error));
  Show(diagnostics);
}

int Reporter::ShowFailure(const Error& error, const std::string& summary) {
  if (interrupted() && error.code == ErrorCode::kCancelled) {
    TellInterrupted();
  } else {
    ShowError(summary, error);
  }
  return FailedExitCode();
}

int Reporter::FailedExitCode() const {
  if (interrupted() || failure_ == ErrorCode::kInterrupted) return kInterruptedExitCode;
  if (failure_ == ErrorCode::kLocked) return 3;
  return failure_ == ErrorCode::kStalePlan ? 4 : 1;
}

void Reporter::ShowWarning(std::string summary, std::string detail) {
  Diagnostic warning;
  warning.severity = Severity::kWarning;
  warning.summary = std::move(summary);
  warning.detail = std::move(detail);
  Diagnostics diagnostics;
  diagnostics.Add(std::move(warning));
  Show(diagnostics);
}

void Reporter::TellLockWait(const LockInfo& holder, std::chrono::milliseconds waited) {
  const std::string name = NameOfHolder(holder);
  if (waited.count() > 0) {
    return Note(fmt::format("Still waiting for {}... [{} elapsed]", name, FormatDuration(waited)));
  }
  // Terraform's sentence, which people and tools know.
  Note("Acquiring state lock. This may take a few moments...");
  Note("Waiting for " + name);
}

bool Reporter::Document(const std::function<Value()>& document,
                        const std::function<void(Streams& streams)>& text, JsonStyle style) {
  if (streams_.json) {
    Value value = document();
    if (value.Find("format_version") == nullptr) value.Set("format_version", "1.0");
    streams_.out << ToJson(value, style) << "\n";
  } else {
    text(streams_);
  }
  streams_.out << std::flush;
  return streams_.json;
}

bool Reporter::Event(const std::function<Value()>& event, JsonStyle style) {
  if (!streams_.json) return false;
  streams_.out << ToJson(event(), style) << '\n' << std::flush;
  return true;
}

std::unique_ptr<Reporter> MakeReporter(Streams& streams, Clock& clock,
                                       std::stop_token interrupted) {
  if (streams.json) return std::make_unique<JsonReporter>(streams, clock, std::move(interrupted));
  return std::make_unique<TextReporter>(streams, clock, std::move(interrupted));
}

std::unique_ptr<Reporter> MakeMarkdownReporter(Streams& streams, Clock& clock,
                                               std::stop_token interrupted) {
  return std::make_unique<MarkdownReporter>(streams, clock, std::move(interrupted));
}

namespace {

enum class Answer { kYes, kNo, kInterrupted };

// An interrupt ends the wait.
Answer Ask(const std::string& question, const Reporter& reporter, Streams& streams) {
  streams.err << question << std::flush;
  std::string line;
  int before = Interrupt::Resumed();
  while (true) {
    if (reporter.interrupted()) return Answer::kInterrupted;
    // After Ctrl-Z and fg the question stands somewhere above the shell's lines.
    if (std::exchange(before, Interrupt::Resumed()) != before) {
      streams.err << question << std::flush;
    }
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, 100);
    if (ready < 0 && errno != EINTR) return Answer::kNo;
    if (ready <= 0) continue;
    char byte = 0;
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Answer::kNo;
    if (byte == '\n') break;
    if (line.size() < 64) line += byte;
  }
  return TrimBlanks(line) == "yes" ? Answer::kYes : Answer::kNo;
}

}  // namespace

int Approve(const Approval& approval, bool input, Reporter& reporter, Streams& streams) {
  if (!input || streams.json || isatty(STDIN_FILENO) == 0) {
    reporter.ShowError("",
                       MakeError(ErrorCode::kFailedPrecondition, approval.unasked, approval.hint));
    return 1;
  }
  const Answer answer = Ask(approval.question, reporter, streams);
  if (answer == Answer::kYes) {
    streams.err << "\n";
    return 0;
  }
  const bool interrupted = answer == Answer::kInterrupted;
  streams.err << fmt::format("\n{}\n", interrupted ? approval.interrupted : approval.declined);
  return interrupted ? kInterruptedExitCode : 1;
}

}  // namespace podctl
