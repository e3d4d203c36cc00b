// Places in a spec, as saved plans hold them (archive.h).
#pragma once

#include "plans/engine/plan_file/archive.h"
#include "providers/base/diagnostic.h"

namespace podctl {

template <typename A, plan_file::Of<SourcePlace> S>
void Members(A& archive, S& place) {
  auto& [file, line, column, length, byte] = place;
  archive("file", file);
  archive("line", line);
  archive("column", column);
  archive("length", length);
  archive("byte", byte);
}

}  // namespace podctl
