#include "plans/kinds/file/plan.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "plans/kinds/file/disk.h"
#include "plans/kinds/file/record.h"
#include "plans/spec/references.h"
#include "state/transitions.h"

namespace podctl {
namespace {

bool IsFile(const Value* seen) {
  return seen != nullptr && (*seen)["kind"] == Value("file");
}

AttributeChange ContentLine(const FileSpec& file, const std::optional<std::string>& content) {
  AttributeChange line;
  line.path = "content";
  line.sensitive = file.sensitive;
  line.known = content.has_value();
  if (content) line.after = Value(*content);
  return line;
}

AttributeChange Line(const std::string& path, const std::string& before, const std::string& after) {
  AttributeChange line;
  line.path = path;
  if (!before.empty()) line.before = Value(before);
  if (!after.empty()) line.after = Value(after);
  return line;
}

Diagnostic Refusal(std::string summary, std::string detail) {
  Diagnostic refusal;
  refusal.summary = std::move(summary);
  refusal.detail = std::move(detail);
  return refusal;
}

class FileJudge {
 public:
  FileJudge(const Kind& kind, const PlanInput& it, const FileRecord* record)
      : it_(it),
        record_(record),
        kind_(kind),
        seen_(it.seen == nullptr ? nullptr : it.seen->Find("here")),
        old_(it.seen == nullptr ? nullptr : it.seen->Find("old")) {}

  Verdict JudgeGone() {
    NoteDrift();
    FileSpec gone;
    gone.name = it_.address.name;
    gone.path = gone.written = record_->current.locator;
    gone.sensitive = WasSensitive();
    gone.removes = RemovableDigest();
    // What podctl did not write is nobody's to remove.
    if (gone.removes.empty() && old_ != nullptr && !old_->is_null()) gone.replaces = "other";
    verdict_.change.verb = gone.removes.empty() ? Verb::kForget : Verb::kDelete;
    verdict_.change.attributes = {Line("mode", ModeText(record_->mode), ""),
                                  Line("path", gone.path, "")};
    verdict_.change.payload = Payload(std::move(gone), &kind_);
    return std::move(verdict_);
  }

  Verdict JudgeDeclared() {
    file_ = *it_.declared->wanted.As<FileSpec>();
    content_ = RenderText(file_.content, it_.nodes);
    if (const auto unusable = FindUnusable(file_.content, it_.nodes)) {
      Refuse(fmt::format("{} refers to {}", it_.address, unusable->words), unusable->hint);
    }
    if (record_ != nullptr && record_->path != file_.written) {
      PlanMove();
    } else if (IsInTheWay()) {
      RefuseWhatIsThere();
    } else if (record_ == nullptr) {
      PlanNew();
    } else {
      PlanKnown();
    }
    verdict_.change.payload = Payload(std::move(file_), &kind_);
    return std::move(verdict_);
  }

 private:
  bool WasSensitive() const { return record_->digest.starts_with("hmac-"); }
  // As the record has it.
  std::string DigestIn(const Value& seen) const {
    return DigestOf(seen["content"].AsString(), WasSensitive(), it_.state.digest_key);
  }
  // Of the old file, where it is as podctl wrote it; empty: it is not.
  std::string RemovableDigest() const {
    if (it_.seen == nullptr) return record_->digest;  // nobody looked: the task does
    const bool ours = IsFile(old_) && DigestIn(*old_) == record_->digest;
    return ours ? record_->digest : "";
  }

  bool IsInTheWay() const { return seen_ != nullptr && !seen_->is_null() && !IsFile(seen_); }

  void RefuseWhatIsThere() {
    const std::string& kind = (*seen_)["kind"].AsString();
    if (kind == "unreadable") {
      return Refuse(fmt::format("{} cannot be read", file_.path),
                    "It is not podctl's own any more: it may not be read, or is larger than what "
                    "podctl writes. Move it away, or let it be read.");
    }
    Refuse(fmt::format("{} is no file", file_.path),
           fmt::format("There is {}, and podctl writes neither over it nor through it. Move it "
                       "away, or give the file another `path`.",
                       kind == "link"     ? "a symbolic link at it, or on the way to it"
                       : kind == "folder" ? "a folder"
                                          : "a device, pipe or socket"));
  }

  void Refuse(std::string summary, std::string detail) {
    verdict_.refusals.push_back(Refusal(std::move(summary), std::move(detail)));
  }

  // Neither what podctl wrote, nor what it is to be by now.
  void NoteDrift() {
    if (old_ == nullptr || record_->pending()) return;
    if (old_->is_null()) {
      verdict_.drift.push_back({Drift::Kind::kVanished, it_.address, "is gone", {}});
      return;
    }
    if (!IsFile(old_) || IsAlsoAnothers(record_->current.locator)) return;
    const bool same_content = DigestIn(*old_) == record_->digest || (*old_)["content"] == Wanted();
    const auto mode = static_cast<int>((*old_)["mode"].AsInt());
    if (same_content && mode == record_->mode) return;
    Drift drift{Drift::Kind::kChanged, it_.address, "was changed", {}};
    if (!same_content) drift.sentence = "has another content than podctl wrote";
    if (mode != record_->mode) {
      drift.attributes.push_back(Line("mode", ModeText(record_->mode), ModeText(mode)));
    }
    verdict_.drift.push_back(std::move(drift));
  }
  Value Wanted() const { return content_ ? Value(*content_) : Value(); }

  void PlanNew() {
    Change& change = verdict_.change;
    change.verb = Verb::kCreate;
    change.attributes = NewFileAttributes(file_, it_.nodes);
    RefuseForeign();
  }

  // Another entry, which comes or goes, has the same path.
  bool IsAlsoAnothers(const std::string& path) const {
    for (const auto& [address, other] : RecordsOf<FileRecord>(it_.state)) {
      if (address != it_.address && other.current.locator == path) return true;
    }
    return false;
  }

  // Nothing of somebody else's is written over.
  void RefuseForeign() {
    if (IsInTheWay()) return RefuseWhatIsThere();
    if (!IsFile(seen_) || (*seen_)["content"] == Wanted()) return;
    if (IsAlsoAnothers(AbsolutePath(file_.path))) return;  // that one goes by its change
    Refuse(fmt::format("{} is there already, and podctl did not write it", file_.path),
           "Move it away, or give the file another `path`.");
  }

  void PlanMove() {
    NoteDrift();
    file_.removes = RemovableDigest();
    Change& change = verdict_.change;
    change.verb = Verb::kDeleteThenCreate;
    change.reason_code = ReasonCode::kCannotUpdate;
    change.reason = "path cannot be changed in place";
    change.attributes = NewFileAttributes(file_, it_.nodes);
    change.attributes.back() = Line("path", record_->current.locator, AbsolutePath(file_.path));
    change.attributes.back().forces_replacement = true;
    RefuseForeign();
  }

  void PlanKnown() {
    // In another checkout, or on another machine, nobody has written it yet.
    const bool elsewhere = record_->current.locator != AbsolutePath(file_.path);
    if (!elsewhere) NoteDrift();
    Change& change = verdict_.change;
    if (seen_ != nullptr && seen_->is_null()) {
      change.verb = Verb::kCreate;
      change.attributes = NewFileAttributes(file_, it_.nodes);
      change.reason = elsewhere ? "it is not there yet" : "the file is gone";
      return;
    }
    if (elsewhere && IsFile(seen_) && DigestIn(*seen_) != record_->digest) RefuseForeign();
    if (seen_ != nullptr) {
      CompareWithSeen();
      file_.replaces = DigestIn(*seen_);
    } else {
      CompareWithRecord();
      file_.replaces = record_->digest;
    }
    if (it_.again) {
      change.verb = Verb::kDeleteThenCreate;
      change.reason_code = ReasonCode::kByRequest;
      change.reason = "it was requested";
    }
    if (change.verb == Verb::kKeep && !change.attributes.empty()) change.verb = Verb::kUpdate;
  }

  void CompareWithSeen() {
    AttributeChange content = ContentLine(file_, content_);
    content.before = (*seen_)["content"];
    // What was secret is not shown because it is none any more.
    content.sensitive = file_.sensitive || WasSensitive();
    if (!content.known || content.before != content.after) Add(std::move(content));
    CompareMode(static_cast<int>((*seen_)["mode"].AsInt()));
  }

  // Nobody looked: the digest tells whether it is another content, but not which it was.
  void CompareWithRecord() {
    const bool sensitive = WasSensitive();
    const bool same =
        content_ && DigestOf(*content_, sensitive, it_.state.digest_key) == record_->digest;
    if (!same) {
      AttributeChange content = ContentLine(file_, content_);
      content.sensitive = file_.sensitive || sensitive;
      Add(std::move(content));
    }
    CompareMode(record_->mode);
  }

  void CompareMode(int mode) {
    if (mode != file_.mode) Add(Line("mode", ModeText(mode), ModeText(file_.mode)));
  }
  void Add(AttributeChange line) { verdict_.change.attributes.push_back(std::move(line)); }

  const PlanInput& it_;
  const FileRecord* const record_;
  const Kind& kind_;
  const Value* const seen_;  // at the path of the spec; nullptr: nobody looked
  const Value* const old_;   // at that of the record
  FileSpec file_;
  std::optional<std::string> content_;
  Verdict verdict_;
};

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

std::vector<AttributeChange> NewFileAttributes(const FileSpec& file, const ReferenceLookup& nodes) {
  return {ContentLine(file, RenderText(file.content, nodes)), Line("mode", "", ModeText(file.mode)),
          Line("path", "", file.path)};
}

Verdict JudgeFile(const Kind& kind, const PlanInput& it) {
  const FileRecord* record = it.record == nullptr ? nullptr : &it.record->As<FileRecord>();
  FileJudge judge(kind, it, record);
  return it.declared == nullptr ? judge.JudgeGone() : judge.JudgeDeclared();
}

bool SettleFile(const Address& address, const Value& seen, const std::string& digest_key,
                AnyRecord* any, std::vector<std::string>* notes) {
  const auto pending = any->As<FileRecord>().pending();
  if (!pending) return true;
  auto& record = any->Edit<FileRecord>();
  const auto note = [&](std::string_view text) {
    notes->push_back(fmt::format("{}: {}", address, text));
  };
  if (pending->kind == PendingAction::Kind::kDelete) {
    if (!seen.is_null()) {
      EndRequest({}, &record);
      return true;
    }
    note("its removal, begun by an earlier run, is complete");
    return false;
  }
  const bool took =
      IsFile(&seen) && DigestOf(seen["content"].AsString(), record.digest.starts_with("hmac-"),
                                digest_key) == record.digest;
  if (took) {
    See({}, &record);
    Finish(&record);
    note("an earlier run had written it");
  } else if (pending->kind == PendingAction::Kind::kCreate) {
    note("an earlier run ended before it was written");
    return false;
  } else {
    record.digest = record.old_digest;
    record.mode = record.old_mode;
    EndRequest({}, &record);
  }
  record.old_digest.clear();
  record.old_mode = 0;
  return true;
}

}  // namespace podctl
