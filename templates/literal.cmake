# literal(RESULT PATH): the file as C++ string literals.
function(literal RESULT PATH)
  # Read as hex, so that no character of the text means anything to CMake.
  file(READ "${PATH}" HEX HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" BYTES "${HEX}")
  # A literal a line keeps each short; \x takes as many digits as it finds, so literals end at lines.
  string(REGEX REPLACE "\\\\x0a" "\\\\n\"\n     \"" BYTES "${BYTES}")
  set(${RESULT} "\"${BYTES}\"" PARENT_SCOPE)
endfunction()
