# SPDX-License-Identifier: Apache-2.0
# Turns files into a C array, one after the other: cmake -DNAME=... -DFILES=a;b -DOUTPUT=... -P embed.cmake gives
# `const unsigned char NAME[]` and `const size_t NAME_size`.
set(bytes)
foreach(file IN LISTS FILES)
  file(READ ${file} hex HEX)
  string(APPEND bytes ${hex})
endforeach()
string(LENGTH "${bytes}" size)
math(EXPR size "${size} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REPEAT "0x..," 16 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "/* made by cmake/embed.cmake */\n#include \"report/page.h\"\n\n\
const unsigned char ${NAME}[] = {\n${bytes}\n0};\nconst size_t ${NAME}_size = ${size};\n")
