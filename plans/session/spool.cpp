#include "plans/session/spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/text.h"
#include "state/run_notes.h"
#include "state/state_json.h"

namespace podctl {
namespace {

constexpr unsigned kOthersBits = 077;

struct Spool {
  std::string path;
  RunNotes notes;
};

std::optional<Spool> Read(HeldFolder& folder, const std::string& path, const std::string& name,
                          RecordKinds kinds) {
  const auto info = folder.Look(name);
  if (!info || info->kind != FileInfo::Kind::kFile || (info->mode & kOthersBits) != 0) {
    return std::nullopt;
  }
  const auto text = folder.Read(name, kMaxStateBytes);
  if (!text) return std::nullopt;
  auto notes = NotesFromJson(text->bytes, path, kinds);
  if (!notes || !notes->base) return std::nullopt;
  return Spool{path, *std::move(notes)};
}

// Of all states; the newest first.
std::vector<Spool> FindSpools(FileSystem& files, const SpoolDoors& doors, RecordKinds kinds) {
  std::vector<Spool> spools;
  for (const std::string& folder : doors.folders) {
    const auto held = files.HoldFolder(folder, "", false);
    const auto names = held ? (*held)->List() : Result<std::vector<std::string>>(held.error());
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!name.starts_with(kAsideErrored)) continue;
      const std::string path = folder == "." ? name : fmt::format("{}/{}", folder, name);
      auto spool = Read(**held, path, name, kinds);
      if (spool && doors.git_follows(path) != true) spools.push_back(*std::move(spool));
    }
  }
  std::stable_sort(spools.begin(), spools.end(), [](const Spool& a, const Spool& b) {
    return a.notes.state.serial > b.notes.state.serial;
  });
  return spools;
}

bool IsOf(const Snapshot& stored, const Spool& spool) {
  return stored.state && stored.state->lineage == spool.notes.state.lineage;
}

std::string WhoseSpool(const Spool& spool) {
  const Provenance& run = spool.notes.run;
  return VisibleControls(fmt::format(
      "{} holds what an earlier run could not save ({}{}{})", spool.path, run.operation,
      run.who.empty() ? "" : " of " + run.who, run.run_url.empty() ? "" : ", " + run.run_url));
}

std::string OvertakenNote(const Spool& spool) {
  return fmt::format(
      "{}, and others have saved since. `podctl state diff present {}` shows in what it differs; "
      "delete it when nothing of it is missed.",
      WhoseSpool(spool), ShellQuote(VisibleControls(spool.path)));
}

}  // namespace

Result<std::vector<std::string>> TakeUpSpool(FileSystem& files, const SpoolDoors& doors,
                                             RecordKinds kinds, StateStore& store) {
  std::vector<std::string> notes;
  std::vector<Spool> spools = FindSpools(files, doors, kinds);
  if (spools.empty()) return notes;
  const auto stored = store.Load();
  if (!stored) return notes;  // as who loads it next is told
  bool saved = false;
  for (Spool& spool : spools) {
    if (!IsOf(*stored, spool)) continue;
    if (saved || !CheckPush(*stored, spool.notes, false)) {
      notes.push_back(OvertakenNote(spool));
      continue;
    }
    Generation at = stored->generation;
    if (auto pushed = store.Push(spool.notes.state, &at); !pushed) return pushed.error();
    saved = true;
    (void)files.Remove(spool.path);
    notes.push_back(WhoseSpool(spool) + ": saved now, and removed here.");
  }
  return notes;
}

std::vector<std::string> SpoolNotes(FileSystem& files, const SpoolDoors& doors, RecordKinds kinds,
                                    const Snapshot& stored) {
  std::vector<std::string> notes;
  for (const Spool& spool : FindSpools(files, doors, kinds)) {
    if (!IsOf(stored, spool)) continue;
    notes.push_back(CheckPush(stored, spool.notes, false)
                        ? WhoseSpool(spool) +
                              ". The next apply here saves it first, and refuses plans that were "
                              "saved before. To save it now: `podctl state push " +
                              ShellQuote(VisibleControls(spool.path)) + "`."
                        : OvertakenNote(spool));
  }
  return notes;
}

}  // namespace podctl
