#include "templates/catalog.h"

#include "templates/embedded.h"

namespace podctl {

std::span<const Template> Templates() {
  return EmbeddedTemplates();
}

std::span<const Template> Pipelines() {
  return EmbeddedPipelines();
}

namespace {

const Template* FindIn(std::span<const Template> all, std::string_view name) {
  for (const Template& item : all) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

}  // namespace

const Template* FindTemplate(std::string_view name) {
  return FindIn(Templates(), name);
}

const Template* FindPipeline(std::string_view forge) {
  return FindIn(Pipelines(), forge);
}

}  // namespace podctl
