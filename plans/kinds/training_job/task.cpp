// Declared in plan.h.
#include "plans/engine/task.h"

#include <fmt/format.h>

#include <utility>

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

enum class JobAction { kSubmit, kReplace, kCancel };

// Submits a training job, cancels one, or one after the other.
//
// The service names the job, so a create whose answer was lost is looked for by its label, which
// stands in the state before it is sent; only when several looks did not find it is it sent again.
class TrainingTask final : public AskingTask {
 public:
  // `known`: the job is there, and is waited for; else a record of one is of none any more.
  TrainingTask(const Address& address, TrainingJobSpec job, JobAction goal, bool known,
               TaskContext& context)
      : address_(address), job_(std::move(job)), goal_(goal), known_(known), context_(context) {}

  NextAction Begin() override {
    const TrainingRecord* record = context_.journal.Get<TrainingRecord>(address_);
    if (goal_ == JobAction::kCancel && (!known_ || record == nullptr)) return Gone();
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
    if (goal_ != JobAction::kSubmit) return LookAtEnding();
    return known_ ? Look() : Submit();
  }

  std::string Id() const override { return name_; }
  std::string Status() const override { return state_; }

 private:
  CustomJobs* Cloud() const { return context_.provider.custom_jobs(); }

  NextAction Submit() {
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
    record.depends_on = job_.depends_on;
    BeginCreate("", "", context_.journal.Begun(request_id_), &record);
    context_.journal.Put(address_, std::move(record));
    Value labels = body["labels"].is_map() ? body["labels"] : Value::EmptyMap();
    labels.Set(kRequestLabel, request_id_);
    body.Set("labels", std::move(labels));
    return Act(CallOf(*Cloud(), &CustomJobs::Create, job_.project, job_.region, std::move(body)),
               &TrainingTask::OnSent);
  }

  NextAction OnSent(const Result<Value>& sent) {
    if (sent) return Submitted(*sent);
    const Error& error = sent.error();
    if (error.code == ErrorCode::kReplyLost) {
      return SleepThen(pace_.Next(), &TrainingTask::Find);
    }
    if (error.code != ErrorCode::kCancelled) context_.journal.Forget(address_);
    return Failed(error);  // when cancelled, the intent stays
  }

  NextAction Find() {
    return Ask(CallOf(*Cloud(), &CustomJobs::Find, where_.first, where_.second,
                      std::string(kRequestLabel), request_id_),
               &TrainingTask::OnFound);
  }

  NextAction OnFound(const Result<Value>& found) {
    if (found) {
      NoteName(*found);
      return goal_ == JobAction::kSubmit ? Submitted(*found) : Cancel();
    }
    if (found.error().code != ErrorCode::kNotFound)
      return LookLater(found.error(), &TrainingTask::Find);
    if (++looks_ < kMostLooks) return SleepThen(pace_.Next(), &TrainingTask::Find);
    if (goal_ == JobAction::kCancel) return Gone();
    return Submit();
  }

  NextAction Submitted(const Value& job) {
    NoteName(job);
    watch_.Start(context_.clock);
    return OnWatched(job);
  }

  NextAction Look() {
    return Ask(CallOf(*Cloud(), &CustomJobs::Get, name_), &TrainingTask::OnWatched);
  }

  // Of a job that is to end.
  NextAction LookAtEnding() {
    return Ask(CallOf(*Cloud(), &CustomJobs::Get, name_), &TrainingTask::OnEnding);
  }

  NextAction LookLater(const Error& error, NextAction (TrainingTask::*look)()) {
    if (!Passes(error) || ++blind_looks_ > kMostBlindLooks) return Failed(error);
    return SleepThen(pace_.Next(), look);
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

  NextAction OnWatched(const Result<Value>& job) {
    if (!job) {
      if (job.error().code != ErrorCode::kNotFound)
        return LookLater(job.error(), &TrainingTask::Look);
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
    return SleepThen(pace_.Next(), &TrainingTask::Look);
  }

  NextAction OnOver() const {
    if (state_ == "JOB_STATE_SUCCEEDED" || state_ == "JOB_STATE_PARTIALLY_SUCCEEDED") return Done();
    return Failed(MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the custom job {} is {}{}", Number(), state_,
                    error_.empty() ? "" : ": " + VisibleControls(error_)),
        fmt::format("`gcloud ai custom-jobs stream-logs {} --region={}` shows its log. The same "
                    "spec does not run again by itself: `podctl apply --replace {}` runs it.",
                    ShellQuote(Number()), ShellQuote(job_.region), ShellQuote(address_.Text()))));
  }

  NextAction Cancel() {
    if (context_.journal.Get<TrainingRecord>(address_) != nullptr) {
      BeginDelete({}, context_.journal.Begun(), &context_.journal.Edit<TrainingRecord>(address_));
    }
    return Act(CallOf(*Cloud(), &CustomJobs::Cancel, name_), &TrainingTask::OnCancelled);
  }

  NextAction OnCancelled(const Result<Value>& answer) {
    ending_ = true;
    watch_.Start(context_.clock);
    if (answer) return LookAtEnding();
    switch (answer.error().code) {
      case ErrorCode::kNotFound:
        return Ended();
      case ErrorCode::kCancelled:
        return Failed(answer.error());  // the intent stays
      case ErrorCode::kFailedPrecondition:
      case ErrorCode::kInvalidArgument:  // it may have ended meanwhile
      case ErrorCode::kReplyLost:
        refused_ = answer.error();
        return LookAtEnding();
      default:
        WithdrawCancel();
        return Failed(answer.error());
    }
  }

  // Of a job that is to end.
  NextAction OnEnding(const Result<Value>& job) {
    if (!job) {
      return job.error().code == ErrorCode::kNotFound
                 ? Ended()
                 : LookLater(job.error(), &TrainingTask::LookAtEnding);
    }
    Note(*job);
    const JobPhase phase = PhaseOfJob(state_);
    if (phase == JobPhase::kOver) return Ended();
    if (!ending_ && phase != JobPhase::kEnding) return Cancel();
    if (phase != JobPhase::kEnding && refused_) {
      WithdrawCancel();
      return Failed(*refused_);
    }
    if (!std::exchange(ending_, true)) watch_.Start(context_.clock);
    if (watch_.Read(context_.clock) > context_.operation_timeout) {
      return Failed(
          MakeError(ErrorCode::kDeadlineExceeded,
                    fmt::format("the custom job {} is still {} after {}", Number(), state_,
                                FormatDuration(context_.operation_timeout)),
                    "It was asked to end; the next `podctl apply` goes on waiting for that."));
    }
    return SleepThen(pace_.Next(), &TrainingTask::LookAtEnding);
  }

  NextAction Ended() {
    if (goal_ == JobAction::kCancel) return Gone();
    name_.clear();
    state_.clear();
    request_id_.clear();
    goal_ = JobAction::kSubmit;
    pace_ = PollBackoff(context_.random);
    return Submit();
  }

  NextAction Gone() {
    context_.journal.Forget(address_);
    return Done();
  }

  const Address address_;
  const TrainingJobSpec job_;
  JobAction goal_;
  const bool known_;
  TaskContext& context_;
  PollBackoff pace_{context_.random};
  Stopwatch watch_;
  bool ending_ = false;                        // it was seen to end, or asked to
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
  const JobAction goal = submits            ? JobAction::kSubmit
                         : IsDelete(change) ? JobAction::kCancel
                                            : JobAction::kReplace;
  const bool known = submits ? change.begun : change.verb != Verb::kForget;
  return std::make_unique<TrainingTask>(change.address, *change.payload.As<TrainingJobSpec>(), goal,
                                        known, context);
}

}  // namespace podctl
