// What a run knew and could not save, as one document that `podctl state push` takes: the state
// that would have come next, and what that was to follow. Whoever has saved since then knows
// better, so it replaces nothing but what it follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "state/provenance.h"
#include "state/record_codec.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

// How the names begin of this machine's files that hold such notes.
inline constexpr std::string_view kAsideErrored = "podctl.errored-";

struct RunNotes {
  State state;
  // The generation that the run went on from; nullopt: whoever wrote this did not say, and the
  // serial alone tells.
  std::optional<Generation> base = {};
  // The one after it that the run sent, and of which it never heard whether it stands there.
  std::optional<Generation> sent = {};
  std::uint64_t epoch = 0;
  Provenance run = {};
};

std::string NotesToJson(const RunNotes& notes);
// Also of a state alone. Errors as of StateFromJson.
Result<RunNotes> NotesFromJson(std::string_view text, const std::string& origin, RecordKinds kinds);

// Whether a text may be notes or a state, rather than something else of podctl's; looks no further.
bool MayBeNotes(std::string_view text);

// Whether a path, or the URL of an object beside a state, names what could not be saved there.
bool NamesNotes(std::string_view place);

// As CheckPush of the state alone; where `base` is known, it or `sent` must be what is stored.
Result<void> CheckPush(const Snapshot& stored, const RunNotes& notes, bool force);

}  // namespace podctl
