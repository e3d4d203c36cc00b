// What the readers of all tools' lines share: what they make, and what is told of a flag before
// anybody looks at what it means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/from_command/flag_words.h"
#include "plans/from_command/from_command.h"

namespace podctl {

class ToolLine {
 protected:
  // `subject` is not carried over as it was, and why: a clause.
  void Left(const std::string& subject, std::string_view reason);
  // It cannot be carried over, and would be lost.
  void Refuse(const std::string& subject, std::string_view reason);
  // What was refused, all of it, a line each; nullopt: nothing was.
  std::optional<Error> Refused() const;
  // "--zone"; of an unknown short one "-z".
  static std::string Shown(const GivenFlag& flag);
  // False (refused) for a flag that nobody knows, and for one that lacks its value.
  bool CanBeTaken(const GivenFlag& flag);

  FromCommand made_;

 private:
  std::vector<Remark> refused_;
};

}  // namespace podctl
