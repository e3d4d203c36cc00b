# cmake -DOUTPUT=file.cpp -DPROGRAM=gang.py -DNAME=kGangProgram -DHEADER=gang.h -P embed.cmake
# Writes a program that runs on the workers as a string literal.
include("${CMAKE_CURRENT_LIST_DIR}/../../templates/literal.cmake")
literal(TEXT "${PROGRAM}")
file(WRITE "${OUTPUT}" "// Written by providers/workers/embed.cmake.
#include \"providers/workers/${HEADER}\"

namespace podctl::workers {

const char* const ${NAME} =
     ${TEXT};

}  // namespace podctl::workers
")
