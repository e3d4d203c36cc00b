#include "state/record_codec.h"

#include <fmt/format.h>

namespace podctl {

std::string FormsOfAddresses(RecordKinds kinds) {
  std::string text = "Addresses are ";
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    text += fmt::format("{}`{}`",
                        i == 0                  ? ""
                        : i + 1 == kinds.size() ? " and "
                                                : ", ",
                        kinds[i]->form());
  }
  return text + ".";
}

}  // namespace podctl
