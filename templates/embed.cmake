# cmake -DOUTPUT=file.cpp -DTEMPLATES=a.yaml.tmpl,b.yaml.tmpl -P embed.cmake
# Writes the templates as a table of string literals. The description of one is its first line,
# which must be a comment.
string(REPLACE "," ";" TEMPLATES "${TEMPLATES}")
set(ROWS "")
foreach(PATH IN LISTS TEMPLATES)
  get_filename_component(FILE "${PATH}" NAME)
  string(REPLACE ".yaml.tmpl" "" NAME "${FILE}")
  # Read as hex, so that no character of the text means anything to CMake.
  file(READ "${PATH}" HEX HEX)
  file(STRINGS "${PATH}" FIRST LIMIT_COUNT 1)
  if(NOT FIRST MATCHES "^# ([^\"\\]+)$")
    message(FATAL_ERROR "${PATH}: the first line must be a comment that describes the template")
  endif()
  set(DESCRIPTION "${CMAKE_MATCH_1}")
  string(REGEX REPLACE "(..)" "\\\\x\\1" BYTES "${HEX}")
  # A literal a line keeps each short; \x takes as many digits as it finds, so literals end at lines.
  string(REGEX REPLACE "\\\\x0a" "\\\\n\"\n     \"" BYTES "${BYTES}")
  string(APPEND ROWS "    {\"${NAME}\", \"${DESCRIPTION}\",\n     \"${BYTES}\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by templates/embed.cmake.
#include \"templates/embedded.h\"

namespace podctl {
namespace {

constexpr Template kTemplates[] = {
${ROWS}};

}  // namespace

std::span<const Template> EmbeddedTemplates() { return kTemplates; }

}  // namespace podctl
")
