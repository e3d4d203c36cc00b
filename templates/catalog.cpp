#include "templates/catalog.h"

#include "templates/embedded.h"

namespace podctl {

std::span<const Template> Templates() {
  return EmbeddedTemplates();
}

const Template* FindTemplate(std::string_view name) {
  for (const Template& item : Templates()) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

}  // namespace podctl
