# SPDX-License-Identifier: Apache-2.0
# Builds the manual's pages into the command line: cmake -DFILES=a.md;b.md -DOUTPUT=... -P pages.cmake gives the table
# that cli/pages.h declares. A page is named as its file, without 'banyan-' in front; one that is about several calls has
# their names, too, as its NAME line lists them.
set(arrays)
set(rows)
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "^banyan-" "" name ${name})
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(REPEAT "'.x..'," 16 line)
  string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "static const char page_${number}[] = {\n${bytes}\n0};\n\n")
  string(APPEND rows "    {\"${name}\", page_${number}},\n")
  file(STRINGS ${file} line LIMIT_COUNT 1 REGEX "^banyan_[a-z_, ]* - ")
  string(REGEX REPLACE " - .*" "" line "${line}")
  string(REGEX MATCHALL "banyan_[a-z_]+" others "${line}")
  list(REMOVE_ITEM others ${name})
  foreach(other IN LISTS others)
    string(APPEND rows "    {\"${other}\", page_${number}},\n")
  endforeach()
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "/* made by cmake/pages.cmake */\n#include \"pages.h\"\n\n${arrays}\
const cli_page cli_pages[] = {\n${rows}    {0, 0},\n};\n")
