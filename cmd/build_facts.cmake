# Writes what BuildFacts says (cmd/build_facts.h), where it is not what the file says already. Run
# with -D SOURCE, OUTPUT, COMMIT (empty: git is asked), TYPE, COMPILER and YAML_CPP.
cmake_minimum_required(VERSION 3.25)
set(MODIFIED false)
if(NOT COMMIT)
  # The checkout of podctl itself, and none around it: a package is built inside of another.
  execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel
                  OUTPUT_VARIABLE TOP OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE FAILED)
  if(NOT FAILED)
    file(REAL_PATH "${SOURCE}" SOURCE)
    file(REAL_PATH "${TOP}" TOP)
  endif()
  if(NOT FAILED AND SOURCE STREQUAL TOP)
    execute_process(COMMAND git --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude=*
                    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(COMMIT MATCHES "^([0-9a-f]+)-dirty$")
  set(COMMIT ${CMAKE_MATCH_1})
  set(MODIFIED true)
elseif(NOT COMMIT MATCHES "^[0-9a-f]+$")
  set(COMMIT "")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "// Made by cmd/build_facts.cmake.
#include \"cmd/build_facts.h\"

namespace podctl {

const BuildFacts kBuildFacts{\"@COMMIT@\", @MODIFIED@, \"@TYPE@\", \"@COMPILER@\", \"@YAML_CPP@\"};

}  // namespace podctl
")
