# tilepost_add_python_library(): the target tilepost_python, libtilepost.so, with the whole C interface, and the file
# _built.py, which says what is in it. The package and the project's own build, which tests the package, share it.
function(tilepost_add_python_library)
  set(parts diagnostics spec plan program core host)
  set(libraries Threads::Threads ${CMAKE_DL_LIBS})
  set(has_cuda False)
  if(TARGET tilepost_cuda)
    list(APPEND parts cuda_host cuda)
    list(APPEND libraries CUDA::cudart_static NCCL::nccl)
    set(has_cuda True)
  endif()
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:tilepost_\\1>" OUTPUT_VARIABLE objects)
  find_package(Threads REQUIRED)
  add_library(tilepost_python SHARED ${objects})
  target_link_libraries(tilepost_python PRIVATE ${libraries})
  # Nothing but the interface gets out: PyTorch has CUDA's runtime as a library of its own.
  set(exports "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../cmake/runtime_exports.map")
  target_link_options(tilepost_python PRIVATE "-Wl,--version-script=${exports}" -Wl,-z,defs)
  set_target_properties(tilepost_python PROPERTIES OUTPUT_NAME tilepost LINK_DEPENDS "${exports}" LINKER_LANGUAGE CXX)
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/_built.py" CONTENT
    "\"\"\"What the library of this package has. Written by CMake.\"\"\"\n\nCUDA = ${has_cuda}\n")
endfunction()
