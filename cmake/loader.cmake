# SPDX-License-Identifier: Apache-2.0
# The last step of an installation: programs that are linked with the library must start. Where the system's loader
# looks (/usr/local/lib on Debian), ldconfig tells it what is new; elsewhere banyan.pc writes the folder into programs.
# Set before: libdir, the folder of the library without DESTDIR, and pc, the installed banyan.pc.
cmake_minimum_required(VERSION 3.25)
find_program(ldconfig ldconfig PATHS /usr/sbin /sbin)
set(listed "")
if(ldconfig) # -N and -X: only list the folders
  execute_process(COMMAND ${ldconfig} -N -X -v OUTPUT_VARIABLE listed ERROR_QUIET)
endif()
string(REGEX MATCHALL "(^|\n)/[^:\n]*:" folders "${listed}")
list(TRANSFORM folders REPLACE "^\n|:$" "")
set(real)
foreach(folder IN LISTS folders)
  file(REAL_PATH ${folder} folder)
  list(APPEND real ${folder})
endforeach()
file(REAL_PATH ${libdir} libdir)
if(NOT libdir IN_LIST real)
  return()
endif()

file(READ ${pc} text)
string(REPLACE "-Wl,-rpath,\${libdir} " "" text "${text}")
file(WRITE ${pc} "${text}")
if("$ENV{DESTDIR}" STREQUAL "") # a package's own script does it where the package is installed
  execute_process(COMMAND ${ldconfig} RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(NOTICE "Programs find ${libdir}/libbanyan.so after, as root: ldconfig")
  endif()
endif()
