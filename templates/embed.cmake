# cmake -DOUTPUT=file.cpp -DFOLDER=templates -P embed.cmake
# Writes the templates of a folder as a table of string literals: each NAME.yaml.tmpl, and each
# folder that has a podctl.yaml, with all its files; and those of the folder pipelines/ as a table of
# their own. The description of one is the first line of its spec, which must be a comment.

include("${CMAKE_CURRENT_LIST_DIR}/literal.cmake")

file(GLOB FLAT RELATIVE "${FOLDER}" "${FOLDER}/*.yaml.tmpl")
file(GLOB FOLDERS RELATIVE "${FOLDER}" "${FOLDER}/*/podctl.yaml")
set(NAMES "")
foreach(PATH IN LISTS FLAT FOLDERS)
  string(REGEX REPLACE "(\\.yaml\\.tmpl|/podctl\\.yaml)$" "" NAME "${PATH}")
  list(APPEND NAMES "${NAME}")
endforeach()
list(SORT NAMES)

# rows(RESULT FOLDER PREFIX SPEC…): the rows of a table of templates, whose files go into TABLES.
set(TABLES "")
function(rows RESULT FOLDER PREFIX)
  set(ROWS "")
  foreach(SPEC IN LISTS ARGN)
    string(REGEX REPLACE "(\\.yaml\\.tmpl|/podctl\\.yaml)$" "" NAME "${SPEC}")
    set(FILES "{}")
    if(SPEC MATCHES "/podctl\\.yaml$")
      file(GLOB_RECURSE OTHERS RELATIVE "${FOLDER}/${NAME}" "${FOLDER}/${NAME}/*"
           "${FOLDER}/${NAME}/.*")
      list(REMOVE_ITEM OTHERS podctl.yaml)
      list(REMOVE_DUPLICATES OTHERS)
      list(SORT OTHERS)
      string(MAKE_C_IDENTIFIER "k${PREFIX}FilesOf_${NAME}" FILES)
      string(APPEND TABLES "constexpr TemplateFile ${FILES}[] = {\n")
      foreach(OTHER IN LISTS OTHERS)
        literal(TEXT "${FOLDER}/${NAME}/${OTHER}")
        string(APPEND TABLES "    {\"${OTHER}\",\n     ${TEXT}},\n")
      endforeach()
      string(APPEND TABLES "};\n")
    endif()
    file(STRINGS "${FOLDER}/${SPEC}" FIRST LIMIT_COUNT 1)
    if(NOT FIRST MATCHES "^# ([^\"\\]+)$")
      message(FATAL_ERROR "${SPEC}: the first line must be a comment that describes the template")
    endif()
    set(DESCRIPTION "${CMAKE_MATCH_1}")
    literal(TEXT "${FOLDER}/${SPEC}")
    string(APPEND ROWS "    {\"${NAME}\", \"${DESCRIPTION}\",\n     ${TEXT},\n     ${FILES}},\n")
  endforeach()
  set(${RESULT} "${ROWS}" PARENT_SCOPE)
  set(TABLES "${TABLES}" PARENT_SCOPE)
endfunction()

file(GLOB FLAT RELATIVE "${FOLDER}" "${FOLDER}/*.yaml.tmpl")
file(GLOB FOLDERS RELATIVE "${FOLDER}" "${FOLDER}/*/podctl.yaml")
# By name, whatever stands behind it.
set(SORTED "")
foreach(SPEC IN LISTS FLAT FOLDERS)
  string(REGEX REPLACE "(\\.yaml\\.tmpl|/podctl\\.yaml)$" "" NAME "${SPEC}")
  list(APPEND SORTED "${NAME} ${SPEC}")
endforeach()
list(SORT SORTED)
list(TRANSFORM SORTED REPLACE "^[^ ]* " "")
rows(ROWS "${FOLDER}" "" ${SORTED})
file(GLOB PIPELINES RELATIVE "${FOLDER}/pipelines" "${FOLDER}/pipelines/*/podctl.yaml")
list(SORT PIPELINES)
rows(PIPELINE_ROWS "${FOLDER}/pipelines" "Pipeline" ${PIPELINES})
file(WRITE "${OUTPUT}" "// Written by templates/embed.cmake.
#include \"templates/embedded.h\"

namespace podctl {
namespace {

${TABLES}
constexpr Template kTemplates[] = {
${ROWS}};
constexpr Template kPipelines[] = {
${PIPELINE_ROWS}};

}  // namespace

std::span<const Template> EmbeddedTemplates() { return kTemplates; }
std::span<const Template> EmbeddedPipelines() { return kPipelines; }

}  // namespace podctl
")
