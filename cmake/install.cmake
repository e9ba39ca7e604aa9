# SPDX-License-Identifier: Apache-2.0
# What `make install` gives: the library, its header, pkg-config and CMake packages, the command line, man pages
# made from docs/, and shell completions made by the command line itself.
include(CMakePackageConfigHelpers)

install(TARGETS libbanyan EXPORT banyanTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/banyan/banyan.h include/banyan/banyan_mpi.h include/banyan/plan.h include/banyan/status.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/banyan)

# pkg-config. Paths are found from the file's own place, so the tree may be moved or installed with DESTDIR.
file(RELATIVE_PATH banyan_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/banyan.pc.in ${PROJECT_BINARY_DIR}/banyan.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/banyan.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(CODE "set(libdir \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")
set(pc \"\$ENV{DESTDIR}\${libdir}/pkgconfig/banyan.pc\")")
install(SCRIPT cmake/loader.cmake)

# find_package(banyan), then link banyan::banyan.
set(banyan_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/banyan)
configure_package_config_file(cmake/banyanConfig.cmake.in ${PROJECT_BINARY_DIR}/banyanConfig.cmake
                              INSTALL_DESTINATION ${banyan_cmake_dir})
# Before 1.0 a minor version may break; after it, SameMajorVersion is meant.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/banyanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/banyanConfig.cmake ${PROJECT_BINARY_DIR}/banyanConfigVersion.cmake
        DESTINATION ${banyan_cmake_dir})
install(EXPORT banyanTargets NAMESPACE banyan:: DESTINATION ${banyan_cmake_dir})

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/schemas/banyan-topology.schema.json docs/schemas/banyan-schedule.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/banyan/schemas)
# Data that the library finds from its own folder, or else from this prefix: layer tables of networks, gradient lists of
# models, and results of papers, which `banyan reproduce` has to find again. A build folder has links in the same places.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/banyan ${PROJECT_BINARY_DIR}/links)
foreach(kind networks/csv models/csv reproduce/json)
  get_filename_component(folder ${kind} DIRECTORY)
  get_filename_component(ending ${kind} NAME)
  install(DIRECTORY data/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/banyan FILES_MATCHING PATTERN "*.${ending}")
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/data/${folder} ${PROJECT_BINARY_DIR}/share/banyan/${folder} SYMBOLIC)
endforeach()
set_source_files_properties(src/core/data.c PROPERTIES COMPILE_DEFINITIONS
                            "BANYAN_DATA_FOLDER=\"${CMAKE_INSTALL_FULL_DATADIR}/banyan\"")

# The Python package, which is only text. Debian's interpreter looks here where the prefix is /usr or /usr/local. Others
# are told by PYTHONPATH, which `banyan run` sets to a folder with nothing else in it.
if(NOT BANYAN_PYTHON_DIR)
  execute_process(COMMAND /usr/bin/python3 -c "import sys; print('python%d.%d' % sys.version_info[:2])"
                  OUTPUT_VARIABLE python ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT python)
    set(python python3)
  endif()
  set(BANYAN_PYTHON_DIR lib/${python}/dist-packages CACHE STRING "Where the Python package goes, under the prefix")
endif()
install(DIRECTORY bindings/python/banyan DESTINATION ${BANYAN_PYTHON_DIR} FILES_MATCHING PATTERN "*.py"
        PATTERN "backend.cpp")
set(python_folder ${CMAKE_INSTALL_DATADIR}/banyan/python)
file(RELATIVE_PATH package /${python_folder} /${BANYAN_PYTHON_DIR}/banyan)
file(CREATE_LINK ${package} ${PROJECT_BINARY_DIR}/links/banyan SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/links/banyan DESTINATION ${python_folder})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/bindings/python ${PROJECT_BINARY_DIR}/share/banyan/python SYMBOLIC)

# Man pages: a page's first line is its title, which man shows by itself; all other headings go up by one. lowdown leaves the
# asterisks of bold and italic words after a bracket and within a word, which sed turns into roff.
find_program(LOWDOWN lowdown)
set(man_pages)
function(add_man_page source name section)
  set(page ${PROJECT_BINARY_DIR}/man/${name}.${section})
  string(TOUPPER ${name} title)
  add_custom_command(
    OUTPUT ${page}
    COMMAND sed 1d ${source}
            | ${LOWDOWN} -s -t man --nroff-nolinks --out-no-smarty --parse-no-super --parse-no-intraemph -M shiftheadinglevelby=-1 -M title=${title}
              -M section=${section} -M "source=Banyan ${PROJECT_VERSION}" -M volume=Banyan -
            | sed -e "/^[.]S[HS]$/N" -e "s/^\\([.]S[HS]\\)\\n/\\1 /"
                  -e "s/\\([[(|]\\)[*][*]\\([^* ][^*]*\\)[*][*]/\\1\\\\fB\\2\\\\fR/g" -e "s/[*]\\([A-Za-z][A-Za-z0-9_|]*\\)[*]/\\\\fI\\1\\\\fR/g" > ${page}
    DEPENDS ${source} VERBATIM)
  set(man_pages ${man_pages} ${page} PARENT_SCOPE)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endfunction()

if(LOWDOWN)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
  file(GLOB verb_pages CONFIGURE_DEPENDS docs/verbs/*.md)
  foreach(source IN LISTS verb_pages)
    get_filename_component(name ${source} NAME_WE)
    add_man_page(${source} ${name} 1)
  endforeach()
  file(GLOB format_pages CONFIGURE_DEPENDS docs/formats/*.md)
  foreach(source IN LISTS format_pages)
    get_filename_component(name ${source} NAME_WE)
    add_man_page(${source} banyan-${name} 5)
  endforeach()
  add_man_page(${PROJECT_SOURCE_DIR}/docs/api.md libbanyan 3)
  file(GLOB call_pages CONFIGURE_DEPENDS docs/api/*.md)
  foreach(source IN LISTS call_pages)
    get_filename_component(name ${source} NAME_WE)
    add_man_page(${source} ${name} 3)
    # The page of several calls is found under each of their names.
    file(STRINGS ${source} line LIMIT_COUNT 1 REGEX "^banyan_[a-z_, ]* - ")
    string(REGEX REPLACE " - .*" "" line "${line}")
    string(REGEX MATCHALL "banyan_[a-z_]+" others "${line}")
    list(REMOVE_ITEM others ${name})
    foreach(other IN LISTS others)
      file(WRITE ${PROJECT_BINARY_DIR}/man/${other}.3 ".so man3/${name}.3\n")
      install(FILES ${PROJECT_BINARY_DIR}/man/${other}.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
    endforeach()
  endforeach()
  file(GLOB setting_pages CONFIGURE_DEPENDS docs/settings/*.md)
  foreach(source IN LISTS setting_pages)
    get_filename_component(name ${source} NAME_WE)
    add_man_page(${source} ${name} 7)
  endforeach()
  add_man_page(${PROJECT_SOURCE_DIR}/docs/programs/banyan-nccl-test.md banyan-nccl-test 1)
  # nccl-tests' name of banyan bench.
  file(WRITE ${PROJECT_BINARY_DIR}/man/all_reduce_perf.1 ".so man1/banyan-bench.1\n")
  install(FILES ${PROJECT_BINARY_DIR}/man/all_reduce_perf.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  add_custom_target(man ALL DEPENDS ${man_pages})
else()
  message(NOTICE "lowdown was not found: no man pages")
endif()

if(TARGET banyan_cli)
  install(TARGETS banyan_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # nccl-tests' name: cli/all_reduce_perf.c.
  file(CREATE_LINK banyan ${PROJECT_BINARY_DIR}/all_reduce_perf SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/all_reduce_perf DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET banyan_cli AND EXISTS ${PROJECT_SOURCE_DIR}/cli/completion.c AND NOT CMAKE_CROSSCOMPILING)
  set(completions)
  foreach(pair bash/banyan zsh/_banyan fish/banyan.fish)
    get_filename_component(shell ${pair} DIRECTORY)
    set(file ${PROJECT_BINARY_DIR}/completion/${pair})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completion/${shell})
    add_custom_command(OUTPUT ${file} COMMAND banyan_cli completion ${shell} > ${file} DEPENDS banyan_cli VERBATIM)
    list(APPEND completions ${file})
  endforeach()
  add_custom_target(completion ALL DEPENDS ${completions})
  install(FILES ${PROJECT_BINARY_DIR}/completion/bash/banyan
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completion/zsh/_banyan
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${PROJECT_BINARY_DIR}/completion/fish/banyan.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# What `make build` builds: everything that is installed, without tests and benchmarks, which have folders of their own.
get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
add_custom_target(product)
foreach(target IN LISTS targets)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    add_dependencies(product ${target})
  endif()
endforeach()
