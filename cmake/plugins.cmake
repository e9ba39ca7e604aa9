# SPDX-License-Identifier: Apache-2.0
# Shared objects that libbanyan loads when they are asked for (src/core/shared_object.c), because each needs a library that
# most processes do without: the linear program solver, and the engines of the transports ucx and mpi, which are built
# where their library is there. libbanyan itself links none of them.
set(banyan_engines ${PROJECT_SOURCE_DIR}/src/transport/engines)
set(banyan_plugin_dir ${CMAKE_INSTALL_LIBDIR}/banyan)
set_source_files_properties(src/core/shared_object.c PROPERTIES COMPILE_DEFINITIONS
                            "BANYAN_PLUGIN_PLACE=\"${CMAKE_INSTALL_FULL_LIBDIR}/banyan\";BANYAN_PLUGIN_DIR=\"${banyan_plugin_dir}\"")

# Where a library's headers and flags are not CMake's to know, its compiler wrapper is: mpicc.openmpi, mpicc.mpich, or
# what BANYAN_MPICC names.
set(BANYAN_MPICC "mpicc.openmpi;mpicc.mpich" CACHE STRING "MPI compiler wrappers to build the mpi transport with")

function(add_engine name)
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE banyan_flags Threads::Threads)
  install(TARGETS ${name} LIBRARY DESTINATION ${banyan_plugin_dir})
endfunction()

# Whoever builds the library or all of its parts gets the solver, too.
add_library(banyan-lp MODULE src/solve/engines/clp.c)
target_link_libraries(banyan-lp PRIVATE PkgConfig::CLP)
add_engine(banyan-lp)
add_dependencies(banyan_all banyan-lp)
add_dependencies(libbanyan banyan-lp)

pkg_check_modules(UCX IMPORTED_TARGET ucx)
if(UCX_FOUND)
  add_library(banyan-transport-ucx MODULE ${banyan_engines}/ucx.c)
  target_link_libraries(banyan-transport-ucx PRIVATE PkgConfig::UCX)
  add_engine(banyan-transport-ucx)
endif()

# The wrapper's own words, without the compiler: flags with -I, -L, -l and the rest.
function(add_mpi wrapper)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE shown OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed
                  ERROR_QUIET)
  if(failed)
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${shown}")
  list(POP_FRONT words)
  set(flags)
  set(includes)
  set(links)
  foreach(word IN LISTS words)
    if(word MATCHES "^-I(.+)")
      list(APPEND includes ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-(L|l|Wl)")
      list(APPEND links ${word})
    endif()
  endforeach()
  set(kind mpich)
  foreach(folder IN LISTS includes)
    if(EXISTS ${folder}/mpi.h)
      file(STRINGS ${folder}/mpi.h is_openmpi REGEX "define OMPI_MAJOR_VERSION|define OPEN_MPI")
      if(is_openmpi)
        set(kind openmpi)
      endif()
    endif()
  endforeach()
  set(name banyan-transport-mpi-${kind})
  if(TARGET ${name})
    return()
  endif()
  add_library(${name} MODULE ${banyan_engines}/mpi.c)
  target_include_directories(${name} SYSTEM PRIVATE ${includes})
  target_link_libraries(${name} PRIVATE ${links})
  add_engine(${name})
endfunction()

foreach(wrapper IN LISTS BANYAN_MPICC)
  string(MAKE_C_IDENTIFIER "BANYAN_WRAPPER_${wrapper}" found)
  find_program(${found} ${wrapper})
  mark_as_advanced(${found})
  if(${found})
    add_mpi(${${found}})
  endif()
endforeach()
