// What is to be done about a file: spec × state × what is on the disk → a change. Pure.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/file/spec.h"

namespace podctl {

Verdict JudgeFile(const Kind& kind, const PlanInput& it);

// A write or a removal that an earlier run began: whether it took is told by what is there.
bool SettleFile(const Address& address, const Value& seen, const std::string& digest_key,
                AnyRecord* record, std::vector<std::string>* notes);

// What a plan shows of a file that is written for the first time.
std::vector<AttributeChange> NewFileAttributes(const FileSpec& file, const ReferenceLookup& nodes);

// From the root; as it is where that cannot be told.
std::string AbsolutePath(const std::string& path);

}  // namespace podctl
