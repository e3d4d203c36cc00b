#include "plans/kinds/file/task.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "plans/kinds/file/disk.h"
#include "plans/kinds/file/plan.h"
#include "plans/kinds/file/record.h"
#include "plans/kinds/file/spec.h"
#include "plans/spec/references.h"
#include "providers/base/text.h"
#include "state/transitions.h"

namespace podctl {
namespace {

constexpr int kMostWaits = 600;
constexpr std::chrono::milliseconds kPause{50};  // until another task is done with the same path

Reply ReplyOf(const Result<void>& done) {
  return done ? Reply(Result<Value>(Value())) : Reply(Result<Value>(done.error()));
}

class FileTask final : public AskingTask {
 public:
  FileTask(const Change& change, FileSystem& files, TaskContext& context)
      : address_(change.address),
        verb_(change.verb),
        file_(*change.payload.As<FileSpec>()),
        files_(files),
        context_(context) {}

  NextAction Begin() override {
    switch (verb_) {
      case Verb::kForget:
        context_.journal.Forget(address_);
        return Done();
      case Verb::kDelete:
      case Verb::kDeleteThenCreate:
        return Remove();
      default:
        return Write();
    }
  }

  std::string Id() const override { return AbsolutePath(file_.path); }

 private:
  // Another entry with the same path: one goes from there, and the other comes.
  const FileRecord* Rival(const std::string& path) const {
    for (const auto& [address, record] : RecordsOf<FileRecord>(context_.journal.state())) {
      if (address != address_ && record.current.locator == path) return &record;
    }
    return nullptr;
  }

  FileOnDisk OnDisk() const {
    return {.path = file_.path,
            .folder = file_.folder,
            .content = {},
            .sensitive = file_.sensitive,
            .mode = file_.mode,
            .replaces = file_.replaces,
            .digest_key = context_.journal.state().digest_key,
            .nonce = context_.random.Uuid()};
  }

  NextAction Remove() {
    const auto* record = context_.journal.Get<FileRecord>(address_);
    // Of one that is only written anew (--replace) the old is written over.
    const bool leaves = record != nullptr && (verb_ == Verb::kDelete || !file_.removes.empty() ||
                                              record->path != file_.written);
    if (!leaves) return verb_ == Verb::kDelete ? Done() : Write();
    if (const FileRecord* rival = Rival(record->current.locator)) {
      if (rival->pending()) return WaitForRival(&FileTask::Remove);
      return Left();  // the file is another entry's by now
    }
    if (file_.removes.empty()) return Left();  // not as podctl wrote it: it stays
    FileOnDisk file = OnDisk();
    file.path = record->current.locator;
    file.folder = FolderOfRecord(*record);
    file.replaces = file_.removes;
    BeginDelete({}, context_.journal.Begun(), &context_.journal.Edit<FileRecord>(address_));
    return Act(
        [&files = files_, file = std::move(file)](StepObserver&, const std::stop_token&) {
          return ReplyOf(RemoveFile(files, file));
        },
        &FileTask::OnRemoved);
  }

  NextAction OnRemoved(const Result<Value>& removed) {
    if (removed) return Left();
    EndRequest({}, &context_.journal.Edit<FileRecord>(address_));
    return Failed(removed.error());
  }

  // It may never be done: what it began is left to the next run where a state cannot be saved.
  NextAction WaitForRival(NextAction (FileTask::*then)()) {
    if (++waits_ <= kMostWaits) return SleepThen(kPause, then);
    return Failed(
        MakeError(ErrorCode::kUnavailable,
                  fmt::format("another entry of the spec is at the same path as {}", address_),
                  "The next `podctl apply` goes on."));
  }

  // Its record stands for nothing any more.
  NextAction Left() {
    context_.journal.Forget(address_);
    return verb_ == Verb::kDelete ? Done() : Write();
  }

  NextAction Write() {
    auto content = RenderText(file_.content, context_.Lookup());
    if (!content) {
      const auto unusable = FindUnusable(file_.content, context_.Lookup());
      return Failed(MakeError(
          ErrorCode::kFailedPrecondition,
          unusable ? "it refers to " + unusable->words
                   : fmt::format("what {} refers to is not known", address_),
          "The file is as it was. `podctl state show` of what it refers to shows what there is."));
    }
    if (const FileRecord* rival = Rival(AbsolutePath(file_.path))) {
      if (rival->pending() && rival->pending()->kind == PendingAction::Kind::kDelete) {
        return WaitForRival(&FileTask::Write);
      }
      // It goes by a change of its own, which leaves the file to this one.
      file_.replaces = rival->digest;
    }
    FileOnDisk file = OnDisk();
    file.content = *std::move(content);
    Note(file);
    return Act(
        [&files = files_, file = std::move(file)](StepObserver&, const std::stop_token&) {
          return ReplyOf(WriteFile(files, file));
        },
        &FileTask::OnWritten);
  }

  void Note(const FileOnDisk& file) {
    const auto* known = context_.journal.Get<FileRecord>(address_);
    FileRecord record = known == nullptr ? FileRecord{} : *known;
    before_ = known == nullptr ? std::nullopt : std::optional(record);
    record.old_digest =
        std::exchange(record.digest, DigestOf(file.content, file_.sensitive, file.digest_key));
    record.old_mode = std::exchange(record.mode, file_.mode);
    if (verb_ == Verb::kUpdate) {
      BeginChange(context_.journal.Begun(), &record);
    } else {
      record.old_digest.clear();
      record.old_mode = 0;
      BeginCreate(AbsolutePath(file_.path), "", context_.journal.Begun(), &record);
    }
    record.path = file_.written;
    record.depends_on = file_.depends_on;
    record.current.locator = AbsolutePath(file_.path);
    context_.journal.Put(address_, std::move(record));
  }

  NextAction OnWritten(const Result<Value>& written) {
    if (!written) {
      // The disk is as it was.
      if (before_ && before_->exists()) {
        context_.journal.Put(address_, *before_);
      } else {
        context_.journal.Forget(address_);
      }
      return Failed(written.error());
    }
    auto& record = context_.journal.Edit<FileRecord>(address_);
    See({}, &record);
    Finish(&record);
    record.old_digest.clear();
    record.old_mode = 0;
    return Done();
  }

  const Address address_;
  const Verb verb_;
  FileSpec file_;
  FileSystem& files_;
  TaskContext& context_;
  std::optional<FileRecord> before_;
  int waits_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakeFileTask(const Change& change, FileSystem& files, TaskContext& context) {
  return std::make_unique<FileTask>(change, files, context);
}

}  // namespace podctl
