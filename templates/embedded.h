// The table that templates/embed.cmake writes from the templates when podctl is built.
#pragma once

#include <span>

#include "templates/catalog.h"

namespace podctl {

std::span<const Template> EmbeddedTemplates();
std::span<const Template> EmbeddedPipelines();

}  // namespace podctl
