# add_tilepost_library() and tilepost_generate(): from a spec to a library, or to its sources.
#
# The names of the outputs follow from the keywords and the spec's `name:` and `arch:` lines, so
# nothing is run at configure time. The generator is tilepost_GENERATOR_EXECUTABLE if set, else the
# target tilepost::generator. Every keyword: docs/cmake.md.

# The functions below keep these policies, whatever the project that calls them asks for: with CMP0116 as it was before
# CMake 3.20, Ninja would not find the outputs in the depfile and generate in every build.
cmake_policy(VERSION 3.25)

# Stops with a message; the line of the call is in the call stack that CMake prints with it.
function(_tilepost_fail call)
  set(text "${call}:")
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE 1 ${last})  # not ARGN, which would split at semicolons
    string(APPEND text " ${ARGV${i}}")
  endforeach()
  message(FATAL_ERROR "${text}")
endfunction()

# Refuses what cmake_parse_arguments did not take. A list keyword swallows a misspelt keyword that
# follows it, so capitalised words inside lists count as unknown keywords too.
function(_tilepost_refuse_unknown call)
  cmake_parse_arguments(arg "" "" "KNOWN;WORDS;VALUES;EMPTY" ${ARGN})
  foreach(word IN LISTS arg_VALUES)
    if(word MATCHES "^[A-Z][A-Z_]+$")
      list(APPEND arg_WORDS ${word})
    endif()
  endforeach()
  list(JOIN arg_KNOWN ", " known)
  if(arg_WORDS)
    list(GET arg_WORDS 0 word)
    _tilepost_fail("${call}" "unknown keyword '${word}'; the keywords are ${known}")
  endif()
  if(arg_EMPTY)
    list(JOIN arg_EMPTY ", " empty)
    _tilepost_fail("${call}" "no value after ${empty}")
  endif()
endfunction()

# The value of a top-level `key:` line of a spec, without quotes and comments; "" if there is none. A
# list in brackets may go on over further lines.
function(_tilepost_read_field out spec key)
  file(READ "${spec}" text)
  string(REGEX REPLACE "(^|[ \t\n])#[^\n]*" "\\1" text "${text}")
  set(value "")
  if("\n${text}" MATCHES "\n[\"']?${key}[\"']?[ \t]*:[ \t]*(\\[[^]]*|[^\n]*)")
    string(REGEX REPLACE "[][\"' \t\r\n]" "" value "${CMAKE_MATCH_1}")
  endif()
  set(${out} "${value}" PARENT_SCOPE)
endfunction()

# The flags of nvcc that a text of YAML gives as `flags: […]` or as a list of lines, which only a spec's
# kernel has; the generator says what is wrong with them.
function(_tilepost_read_kernel_flags out text)
  string(REGEX REPLACE "(^|[ \t\n])#[^\n]*" "\\1" text "${text}")
  set(items "")
  if("\n${text}" MATCHES "[\n{, \t]flags[\"']?[ \t]*:[ \t]*\\[([^]]*)\\]")
    string(REPLACE "," ";" items "${CMAKE_MATCH_1}")
  elseif("\n${text}" MATCHES "\n[ \t]+flags[\"']?[ \t]*:[ \t\r]*((\n[ \t]*- [^\n]*|\n[ \t\r]*)+)")
    string(REGEX MATCHALL "- [^\n]*" items "${CMAKE_MATCH_1}")
    list(TRANSFORM items REPLACE "^- " "")
  endif()
  list(TRANSFORM items REPLACE "[\"' \t\r\n]" "")
  list(REMOVE_ITEM items "")
  set(${out} "${items}" PARENT_SCOPE)
endfunction()

# Spec spelling of architectures: 90a, 90a-real and sm_90a all are sm_90a.
function(_tilepost_spell_archs call out)
  set(known sm_80 sm_86 sm_89 sm_90a host)
  set(spelt "")
  foreach(arch IN LISTS ARGN)
    string(REGEX REPLACE "^(sm_)?([0-9]+a?)(-real)?$" "sm_\\2" name "${arch}")
    if(NOT name IN_LIST known)
      list(JOIN known ", " names)
      _tilepost_fail("${call}" "unknown architecture '${arch}'; the architectures are ${names}")
    endif()
    list(APPEND spelt ${name})
  endforeach()
  list(REMOVE_DUPLICATES spelt)
  list(LENGTH spelt count)
  if(count GREATER 1 AND "host" IN_LIST spelt)
    _tilepost_fail("${call}" "host cannot be mixed with CUDA architectures, got '${ARGN}'")
  endif()
  set(${out} "${spelt}" PARENT_SCOPE)
endfunction()

# How to run the generator, and what a rule that runs it depends on.
function(_tilepost_find_generator call out_command out_depends)
  if(tilepost_GENERATOR_EXECUTABLE)
    if(NOT EXISTS "${tilepost_GENERATOR_EXECUTABLE}")
      _tilepost_fail("${call}" "tilepost_GENERATOR_EXECUTABLE is '${tilepost_GENERATOR_EXECUTABLE}',"
                     "which does not exist")
    endif()
    set(${out_command} "${tilepost_GENERATOR_EXECUTABLE}" PARENT_SCOPE)
    set(${out_depends} "${tilepost_GENERATOR_EXECUTABLE}" PARENT_SCOPE)
  elseif(TARGET tilepost::generator)
    set(${out_command} tilepost::generator PARENT_SCOPE)
    set(${out_depends} tilepost::generator PARENT_SCOPE)
  else()
    _tilepost_fail("${call}" "no generator: this tilepost was built without one; set"
                   "tilepost_GENERATOR_EXECUTABLE to a tilepost program")
  endif()
endfunction()

# The flags that give a spec's kernel the include folders and macros of a target, known when the build
# is generated; none where it has none.
function(_tilepost_kernel_flags call out target)
  if(NOT TARGET ${target})
    _tilepost_fail("${call}" "KERNEL_TARGET is '${target}', which is no target")
  endif()
  get_target_property(type ${target} TYPE)
  set(interface "")
  if(type STREQUAL INTERFACE_LIBRARY)
    set(interface INTERFACE_)
  endif()
  set(flags "")
  foreach(field IN ITEMS include_dirs=INCLUDE_DIRECTORIES defines=COMPILE_DEFINITIONS)
    string(REGEX MATCH "^(.*)=(.*)$" field "${field}")
    set(values "$<TARGET_PROPERTY:${target},${interface}${CMAKE_MATCH_2}>")
    set(list "['$<JOIN:$<REMOVE_DUPLICATES:${values}>,'$<COMMA>'>']")  # of YAML
    list(APPEND flags "$<$<BOOL:${values}>:-Dkernel.${CMAKE_MATCH_1}=${list}>")
  endforeach()
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

# Adds the rule of one spec. Sets <prefix>_SOURCE, _HEADER, _PLAN, _ARCHS, _DIR and _PLAN_VARIABLE
# in the caller's scope.
function(_tilepost_add_rule call prefix)
  set(one SPEC NAME OUTPUT_DIR PLAN_JSON KERNEL_TARGET MACHINE TUNING)
  set(several ARCHS DEFINES DEPENDS)
  cmake_parse_arguments(arg "WERROR" "${one}" "${several}" ${ARGN})
  _tilepost_refuse_unknown("${call}" KNOWN ${one} ${several} WERROR WORDS ${arg_UNPARSED_ARGUMENTS}
    VALUES ${arg_SPEC} ${arg_NAME} ${arg_OUTPUT_DIR} ${arg_KERNEL_TARGET} ${arg_MACHINE} ${arg_TUNING} ${arg_ARCHS}
           ${arg_DEFINES} ${arg_DEPENDS}
    EMPTY ${arg_KEYWORDS_MISSING_VALUES})
  if(NOT arg_SPEC)
    _tilepost_fail("${call}" "SPEC <file.yaml> is missing")
  endif()
  get_filename_component(spec "${arg_SPEC}" ABSOLUTE)
  if(NOT EXISTS "${spec}" OR IS_DIRECTORY "${spec}")
    _tilepost_fail("${call}" "no spec file '${spec}'")
  endif()
  foreach(define IN LISTS arg_DEFINES)
    if(define MATCHES "^(name|arch)=")
      _tilepost_fail("${call}" "DEFINES cannot set '${define}': use NAME and ARCHS")
    elseif(NOT define MATCHES "^[a-z_][a-z0-9_.]*=")
      _tilepost_fail("${call}" "DEFINES takes path=value, got '${define}'")
    endif()
  endforeach()

  # What is not given is read from the spec; the project is configured again when it changes.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${spec}")
  file(READ "${spec}" spec_text)
  _tilepost_read_kernel_flags(nvcc_flags "${spec_text}")
  set(flags "")
  if(arg_NAME)
    set(name "${arg_NAME}")
    list(APPEND flags --name "${name}")
  else()
    _tilepost_read_field(name "${spec}" name)
  endif()
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    _tilepost_fail("${call}" "the name must be a C identifier, got '${name}' from '${spec}';"
                   "write a line 'name: …' in the spec or give NAME")
  endif()
  # Two programs of one name would share files, or be taken for one another when they are linked.
  get_property(other GLOBAL PROPERTY "tilepost_call_for_${name}")
  if(other)
    _tilepost_fail("${call}" "the name '${name}' is that of ${other} already; give one of them"
                   "another with NAME")
  endif()
  set_property(GLOBAL PROPERTY "tilepost_call_for_${name}" "${call} in '${CMAKE_CURRENT_SOURCE_DIR}'")
  if(arg_WERROR)
    list(APPEND flags --werror)
  endif()
  # A file of this folder, or else a name that the tool knows, or will refuse. The depfile has the file.
  if(arg_MACHINE)
    get_filename_component(machine "${arg_MACHINE}" ABSOLUTE)
    if(NOT EXISTS "${machine}")
      set(machine "${arg_MACHINE}")
    endif()
    list(APPEND flags --machine "${machine}")
  endif()
  set(tuning "")
  if(arg_TUNING)
    get_filename_component(tuning "${arg_TUNING}" ABSOLUTE)
    if(NOT EXISTS "${tuning}" OR IS_DIRECTORY "${tuning}")
      _tilepost_fail("${call}" "no tuning file '${tuning}'; 'tilepost tune' writes one")
    endif()
    list(APPEND flags --tuning "${tuning}")
  endif()
  if(arg_ARCHS)
    _tilepost_spell_archs("${call}" archs ${arg_ARCHS})
    list(JOIN archs "," joined)
    list(APPEND flags --arch "${joined}")
  else()
    _tilepost_read_field(archs "${spec}" arch)
    string(REPLACE "," ";" archs "${archs}")
    if(NOT archs)
      _tilepost_fail("${call}" "cannot read the architectures of '${spec}';"
                     "write a line 'arch: …' in the spec or give ARCHS")
    endif()
    _tilepost_spell_archs("${call}" archs ${archs})
  endif()
  foreach(define IN LISTS arg_DEFINES)
    list(APPEND flags -D "${define}")
    if(define MATCHES "^kernel\\.flags=(.*)$")
      _tilepost_read_kernel_flags(nvcc_flags "flags: ${CMAKE_MATCH_1}")
    endif()
  endforeach()

  set(kernel_flags "")
  if(arg_KERNEL_TARGET)
    _tilepost_kernel_flags("${call}" kernel_flags "${arg_KERNEL_TARGET}")
  endif()
  if(arg_OUTPUT_DIR)
    get_filename_component(dir "${arg_OUTPUT_DIR}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  else()
    set(dir "${CMAKE_CURRENT_BINARY_DIR}/tilepost/${name}")
  endif()
  set(extension cu)
  if(archs STREQUAL host)
    set(extension cpp)
  endif()
  _tilepost_find_generator("${call}" generator generator_depends)
  set(depfile "${CMAKE_CURRENT_BINARY_DIR}/tilepost/${name}.d")
  set(source "${dir}/${name}.${extension}")
  set(others "${dir}/${name}.h" "${dir}/${name}.plan.json")
  if(nvcc_flags AND extension STREQUAL cu)
    set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${nvcc_flags})
  endif()
  # Makefiles touch every output but the first after the command, and files named in a depfile count
  # as new when what they depend on is: either would compile again what has not changed. There a file
  # of its own says when the generator ran; make looks at the source's time after it did nothing.
  set(ran "")
  if(CMAKE_GENERATOR MATCHES "Makefiles")
    set(stamp "${CMAKE_CURRENT_BINARY_DIR}/tilepost/${name}.stamp")
    set(outputs OUTPUT "${stamp}" BYPRODUCTS ${others})
    set(ran COMMAND ${CMAKE_COMMAND} -E touch "${stamp}")
    add_custom_command(OUTPUT "${source}" COMMAND ${CMAKE_COMMAND} -E true DEPENDS "${stamp}"
                       COMMENT "" VERBATIM)
  else()
    set(outputs OUTPUT "${source}" ${others} DEPFILE "${depfile}")
  endif()
  get_filename_component(spec_name "${spec}" NAME)
  add_custom_command(
    ${outputs}
    COMMAND ${generator} generate "${spec}" ${flags} "${kernel_flags}" -o "${dir}" --depfile "${depfile}"
    ${ran}
    COMMAND_EXPAND_LISTS  # for flags that are none
    DEPENDS "${spec}" ${tuning} ${generator_depends} ${arg_DEPENDS}
    COMMENT "Generating ${name}.${extension} from ${spec_name}"
    VERBATIM)
  set(${prefix}_SOURCE "${source}" PARENT_SCOPE)
  set(${prefix}_HEADER "${dir}/${name}.h" PARENT_SCOPE)
  set(${prefix}_PLAN "${dir}/${name}.plan.json" PARENT_SCOPE)
  set(${prefix}_ARCHS "${archs}" PARENT_SCOPE)
  set(${prefix}_DIR "${dir}" PARENT_SCOPE)
  set(${prefix}_PLAN_VARIABLE "${arg_PLAN_JSON}" PARENT_SCOPE)
endfunction()

# tilepost_generate(<out-var> SPEC <file.yaml> [NAME <identifier>] [ARCHS <arch>…]
#                   [DEFINES <path>=<value>…] [OUTPUT_DIR <dir>] [DEPENDS <file|target>…]
#                   [KERNEL_TARGET <target>] [MACHINE <name|file>] [TUNING <file>] [PLAN_JSON <out-var>] [WERROR])
# Sets <out-var> to the generated source and header, for a target of the caller's own.
function(tilepost_generate out)
  _tilepost_add_rule("tilepost_generate(${out})" rule ${ARGN})
  set(${out} "${rule_SOURCE}" "${rule_HEADER}" PARENT_SCOPE)
  if(rule_PLAN_VARIABLE)
    set(${rule_PLAN_VARIABLE} "${rule_PLAN}" PARENT_SCOPE)
  endif()
endfunction()

# add_tilepost_library(<target> SPEC <file.yaml> … as tilepost_generate …)
# Makes the static library <target>; targets that link it can include "<name>.h".
function(add_tilepost_library target)
  set(call "add_tilepost_library(${target})")
  _tilepost_add_rule("${call}" rule ${ARGN})
  if(rule_ARCHS STREQUAL host)
    set(runtime tilepost::host)
  else()
    set(runtime tilepost::cuda)
    if(NOT CMAKE_CUDA_COMPILER_LOADED)
      _tilepost_fail("${call}" "ARCHS ${rule_ARCHS} need the CUDA language: project(… LANGUAGES CXX"
                     "CUDA) or enable_language(CUDA) before the call")
    endif()
  endif()
  if(NOT TARGET ${runtime})
    _tilepost_fail("${call}" "ARCHS ${rule_ARCHS} need ${runtime}, which this tilepost was built"
                   "without")
  endif()
  if(rule_ARCHS STREQUAL host AND NOT CMAKE_CXX_COMPILER_LOADED)
    _tilepost_fail("${call}" "ARCHS host needs the CXX language: project(… LANGUAGES CXX) or"
                   "enable_language(CXX) before the call")
  endif()
  add_library(${target} STATIC "${rule_SOURCE}")
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${rule_DIR}" FILES "${rule_HEADER}")
  target_link_libraries(${target} PUBLIC ${runtime})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(NOT rule_ARCHS STREQUAL host)
    list(TRANSFORM rule_ARCHS REPLACE "^sm_(.*)$" "\\1-real")
    # As a flag, for CMake 3.25 does not know that nvcc has C++20; given twice, nvcc refuses it.
    # Relocatable device code, which a project may ask for everywhere, makes kernels for sm_90a slow.
    set_target_properties(${target} PROPERTIES
      CUDA_ARCHITECTURES "${rule_ARCHS}" CUDA_SEPARABLE_COMPILATION OFF)
    set_property(TARGET ${target} PROPERTY CUDA_STANDARD)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  endif()
  if(rule_PLAN_VARIABLE)
    set(${rule_PLAN_VARIABLE} "${rule_PLAN}" PARENT_SCOPE)
  endif()
endfunction()
