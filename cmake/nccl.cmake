# SPDX-License-Identifier: Apache-2.0
# libnccl-net-banyan.so, which NCCL loads by name: the library itself, and what src/nccl puts NCCL's tables over. It stays loaded
# once it is, since NCCL closes it while the last threads of its communicators may still be returning.
file(GLOB nccl_sources CONFIGURE_DEPENDS src/nccl/*.c)
add_library(nccl-net-banyan MODULE ${nccl_sources})
target_link_libraries(nccl-net-banyan PRIVATE banyan_objects)
target_link_options(nccl-net-banyan PRIVATE -Wl,-z,nodelete -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/nccl/nccl.map)
set_target_properties(nccl-net-banyan PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/nccl/nccl.map)
add_dependencies(nccl-net-banyan banyan-lp)
install(TARGETS nccl-net-banyan LIBRARY DESTINATION ${banyan_plugin_dir})
add_dependencies(libbanyan nccl-net-banyan)

# Times NCCL itself, with or without the plugin; needs NCCL and CUDA only when it runs.
add_executable(banyan-nccl-test bench/nccl/nccl_test.c)
target_link_libraries(banyan-nccl-test PRIVATE banyan_flags ${CMAKE_DL_LIBS})
install(TARGETS banyan-nccl-test RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
