#include "plans/kinds/training_job/task.h"

#include <fmt/format.h>

#include <utility>

#include "plans/engine/task.h"
#include "plans/kinds/training_job/plan.h"
#include "plans/kinds/training_job/record.h"
#include "plans/kinds/training_job/requests.h"
#include "plans/kinds/training_job/spec.h"
#include "providers/base/text.h"
#include "providers/custom_jobs.h"
#include "state/transitions.h"

namespace podctl {
namespace {

// A job that nobody gives room to must end some day.
constexpr std::chrono::hours kQueueLimit{6};
constexpr int kMostLooks = 5;  // for a job whose creation nobody heard of, before it is sent again
constexpr int kMostSends = 3;
constexpr int kMostBlindLooks = 20;  // without an answer

enum class JobErrand { kSubmit, kReplace, kCancel };

// Submits a training job, cancels one, or one after the other.
//
// The service names the job, so a create whose answer was lost is looked for by its label, which
// stands in the state before it is sent; only when several looks did not find it is it sent again.
class TrainingTask final : public Task {
 public:
  // `known`: the job is there, and is waited for; else a record of one is of none any more.
  TrainingTask(const Address& address, TrainingJobSpec job, JobErrand goal, bool known,
               TaskContext& context)
      : address_(address), job_(std::move(job)), goal_(goal), known_(known), context_(context) {}

  Need Begin() override {
    const TrainingRecord* record = context_.journal.Get<TrainingRecord>(address_);
    if (goal_ == JobErrand::kCancel && (!known_ || record == nullptr)) return Gone();
    if (context_.provider.custom_jobs() == nullptr) {
      return Failed(MakeError(ErrorCode::kUnimplemented, "this service has no training jobs"));
    }
    if (record == nullptr) return Submit();
    name_ = record->current.locator;
    if (name_.empty()) {
      if (record->pending()) request_id_ = record->pending()->request_id;
      where_ = {record->project, record->region};
      return request_id_.empty() ? Submit() : Find();
    }
    watch_.Start(context_.clock);
    if (goal_ != JobErrand::kSubmit) return Look(Phase::kBeforeCancel);
    return known_ ? Look(Phase::kWatch) : Submit();
  }

  Need OnReply(Reply reply) override {
    const auto& answer = std::get<Result<Value>>(reply);
    switch (phase_) {
      case Phase::kSend:
        return OnSent(answer);
      case Phase::kFind:
        return OnFound(answer);
      case Phase::kWatch:
        return OnWatched(answer);
      case Phase::kCancel:
        return OnCancelled(answer);
      case Phase::kBeforeCancel:
      case Phase::kEnding:
        return OnEnding(answer);
    }
    return Done();
  }

  Need OnWake() override {
    if (phase_ == Phase::kFind) return Find();
    return phase_ == Phase::kCancel ? Cancel() : Look(phase_);
  }
  std::string Id() const override { return name_; }
  std::string Status() const override { return state_; }

 private:
  enum class Phase { kSend, kFind, kWatch, kBeforeCancel, kCancel, kEnding };

  CustomJobs* Cloud() const { return context_.provider.custom_jobs(); }

  Need Submit() {
    phase_ = Phase::kSend;
    const auto job = WithReferences(job_, context_.Lookup());
    if (!job) {
      return Failed(MakeError(ErrorCode::kFailedPrecondition,
                              "what its arguments refer to is not known",
                              "`podctl state show` of what they refer to shows what there is."));
    }
    if (++sends_ > kMostSends) {
      context_.journal.Forget(address_);
      return Failed(MakeError(ErrorCode::kUnavailable,
                              fmt::format("the job was sent {} times, each answer was lost and no "
                                          "job appeared",
                                          kMostSends)));
    }
    if (request_id_.empty()) request_id_ = context_.random.Uuid();
    where_ = {job_.project, job_.region};
    looks_ = 0;
    Value body = CustomJobBody(*job);
    TrainingRecord record;
    record.project = job_.project;
    record.region = job_.region;
    record.applied = body;  // without the label
    BeginCreate("", "", context_.journal.Begun(request_id_), &record);
    context_.journal.Put(address_, std::move(record));
    Value labels = body["labels"].is_map() ? body["labels"] : Value::EmptyMap();
    labels.Set(kRequestLabel, request_id_);
    body.Set("labels", std::move(labels));
    return CallFor(
        [jobs = Cloud(), project = job_.project, region = job_.region, body = std::move(body)](
            StepObserver&, std::stop_token stop) {
          return Reply(jobs->Create(project, region, body, std::move(stop)));
        },
        true);
  }

  Need OnSent(const Result<Value>& sent) {
    if (sent) return Submitted(*sent);
    const Error& error = sent.error();
    if (error.code == ErrorCode::kReplyLost) {
      phase_ = Phase::kFind;
      return Sleep(pace_.Next());
    }
    if (error.code != ErrorCode::kCancelled) context_.journal.Forget(address_);
    return Failed(error);  // when cancelled, the intent stays
  }

  Need Find() {
    phase_ = Phase::kFind;
    return CallFor(
        [jobs = Cloud(), where = where_, id = request_id_](StepObserver&, std::stop_token stop) {
          return Reply(jobs->Find(where.first, where.second, std::string(kRequestLabel), id,
                                  std::move(stop)));
        },
        false);
  }

  Need OnFound(const Result<Value>& found) {
    if (found) {
      NoteName(*found);
      return goal_ == JobErrand::kSubmit ? Submitted(*found) : Cancel();
    }
    if (found.error().code != ErrorCode::kNotFound) return LookLater(found.error());
    if (++looks_ < kMostLooks) return Sleep(pace_.Next());
    if (goal_ == JobErrand::kCancel) return Gone();
    return Submit();
  }

  Need Submitted(const Value& job) {
    NoteName(job);
    watch_.Start(context_.clock);
    return OnWatched(job);
  }

  Need Look(Phase phase) {
    phase_ = phase;
    return CallFor(
        [jobs = Cloud(), name = name_](StepObserver&, std::stop_token stop) {
          return Reply(jobs->Get(name, std::move(stop)));
        },
        false);
  }

  // A look that fails says nothing about the job.
  Need LookLater(const Error& error) {
    const bool passes = error.code == ErrorCode::kUnavailable ||
                        error.code == ErrorCode::kReplyLost || error.code == ErrorCode::kInternal ||
                        error.code == ErrorCode::kDeadlineExceeded;
    if (!passes || ++blind_looks_ > kMostBlindLooks) return Failed(error);
    return Sleep(pace_.Next());
  }

  // The service knows the job by a name.
  void NoteName(const Value& job) {
    name_ = job["name"].AsString();
    if (context_.journal.Get<TrainingRecord>(address_) == nullptr) return;
    auto& record = context_.journal.Edit<TrainingRecord>(address_);
    record.current.locator = name_;
    Finish(&record);
  }

  void WithdrawCancel() {
    if (context_.journal.Get<TrainingRecord>(address_) == nullptr) return;
    EndRequest({}, &context_.journal.Edit<TrainingRecord>(address_));
  }

  void Note(const Value& job) {
    blind_looks_ = 0;
    const std::string state = job["state"].AsString();
    if (state == state_) return;
    state_ = state;
    error_ = job["error"]["message"].AsString();
    const auto* known = context_.journal.Get<TrainingRecord>(address_);
    if (known != nullptr && (known->state != state_ || known->error != error_)) {
      auto& record = context_.journal.Edit<TrainingRecord>(address_);
      record.state = state_;
      record.error = error_;
    }
    if (PhaseOfJob(state_) == JobPhase::kWaiting) {
      context_.note(address_, fmt::format("its custom job {} is {}", Number(), state_));
    }
  }

  // The last part of its name, as gcloud takes it.
  std::string Number() const { return name_.substr(name_.rfind('/') + 1); }

  Need OnWatched(const Result<Value>& job) {
    phase_ = Phase::kWatch;
    if (!job) {
      if (job.error().code != ErrorCode::kNotFound) return LookLater(job.error());
      context_.journal.Forget(address_);
      return Failed(MakeError(ErrorCode::kNotFound,
                              fmt::format("the custom job {} is gone", Number()),
                              "Somebody deleted it; `podctl apply` submits it anew."));
    }
    Note(*job);
    switch (PhaseOfJob(state_)) {
      case JobPhase::kRunning:
        return Done();
      case JobPhase::kOver:
        return OnOver();
      case JobPhase::kWaiting:
      case JobPhase::kEnding:
        break;
    }
    if (!context_.wait_for_capacity) return Later();
    if (watch_.Read(context_.clock) > kQueueLimit) {
      return Failed(MakeError(ErrorCode::kDeadlineExceeded,
                              fmt::format("the custom job {} is still {} after {}", Number(),
                                          state_, FormatDuration(kQueueLimit)),
                              "The job stays as it is, and the next `podctl apply` goes on "
                              "waiting."));
    }
    return Sleep(pace_.Next());
  }

  Need OnOver() const {
    if (state_ == "JOB_STATE_SUCCEEDED" || state_ == "JOB_STATE_PARTIALLY_SUCCEEDED") return Done();
    return Failed(MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the custom job {} is {}{}", Number(), state_,
                    error_.empty() ? "" : ": " + VisibleControls(error_)),
        fmt::format("`gcloud ai custom-jobs stream-logs {} --region={}` shows its log. The same "
                    "spec does not run again by itself: `podctl apply --replace {}` runs it.",
                    ShellQuote(Number()), ShellQuote(job_.region), ShellQuote(address_.Text()))));
  }

  Need Cancel() {
    phase_ = Phase::kCancel;
    if (context_.journal.Get<TrainingRecord>(address_) != nullptr) {
      BeginDelete({}, context_.journal.Begun(), &context_.journal.Edit<TrainingRecord>(address_));
    }
    return CallFor(
        [jobs = Cloud(), name = name_](StepObserver&, std::stop_token stop) {
          return Reply(jobs->Cancel(name, std::move(stop)));
        },
        true);
  }

  Need OnCancelled(const Result<Value>& answer) {
    watch_.Start(context_.clock);
    if (answer) return Look(Phase::kEnding);
    switch (answer.error().code) {
      case ErrorCode::kNotFound:
        return Ended();
      case ErrorCode::kCancelled:
        return Failed(answer.error());  // the intent stays
      case ErrorCode::kFailedPrecondition:
      case ErrorCode::kInvalidArgument:  // it may have ended meanwhile
      case ErrorCode::kReplyLost:
        refused_ = answer.error();
        return Look(Phase::kEnding);
      default:
        WithdrawCancel();
        return Failed(answer.error());
    }
  }

  // Of a job that is to end.
  Need OnEnding(const Result<Value>& job) {
    if (!job) {
      return job.error().code == ErrorCode::kNotFound ? Ended() : LookLater(job.error());
    }
    Note(*job);
    const JobPhase phase = PhaseOfJob(state_);
    if (phase == JobPhase::kOver) return Ended();
    if (phase_ == Phase::kBeforeCancel && phase != JobPhase::kEnding) return Cancel();
    if (phase != JobPhase::kEnding && refused_) {
      WithdrawCancel();
      return Failed(*refused_);
    }
    if (phase_ == Phase::kBeforeCancel) watch_.Start(context_.clock);
    phase_ = Phase::kEnding;
    if (watch_.Read(context_.clock) > context_.operation_timeout) {
      return Failed(
          MakeError(ErrorCode::kDeadlineExceeded,
                    fmt::format("the custom job {} is still {} after {}", Number(), state_,
                                FormatDuration(context_.operation_timeout)),
                    "It was asked to end; the next `podctl apply` goes on waiting for that."));
    }
    return Sleep(pace_.Next());
  }

  Need Ended() {
    if (goal_ == JobErrand::kCancel) return Gone();
    name_.clear();
    state_.clear();
    request_id_.clear();
    goal_ = JobErrand::kSubmit;
    pace_ = PollPace(context_.random);
    return Submit();
  }

  Need Gone() {
    context_.journal.Forget(address_);
    return Done();
  }

  const Address address_;
  const TrainingJobSpec job_;
  JobErrand goal_;
  const bool known_;
  TaskContext& context_;
  PollPace pace_{context_.random};
  Stopwatch watch_;
  Phase phase_ = Phase::kSend;
  std::pair<std::string, std::string> where_;  // project and region in which it is looked for
  std::string request_id_;
  std::string name_;   // of the job
  std::string state_;  // as last seen
  std::string error_;
  std::optional<Error> refused_;  // why it was not cancelled
  int sends_ = 0;
  int looks_ = 0;
  int blind_looks_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakeTrainingTask(const Change& change, TaskContext& context) {
  const bool submits = change.verb == Verb::kCreate;
  const JobErrand goal = submits            ? JobErrand::kSubmit
                         : IsDelete(change) ? JobErrand::kCancel
                                            : JobErrand::kReplace;
  const bool known = submits ? change.begun : change.verb != Verb::kForget;
  return std::make_unique<TrainingTask>(change.address, *change.payload.As<TrainingJobSpec>(), goal,
                                        known, context);
}

}  // namespace podctl
