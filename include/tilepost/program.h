// Programs that are made at run time: a spec given as fields is planned in this process, and its
// kernels come from a catalogue that `tilepost catalogue` has compiled before. Neither LLVM nor a
// compiler is needed.
//
// The functions are in the library target tilepost::plan, but for tilepost_cuda_kernel_loader(),
// which is in tilepost::cuda. Every call returns a result, and tilepost_last_error() has the text
// of a failure, with everything that is wrong with a spec. Different threads may call all of these
// functions at the same time.
#ifndef TILEPOST_PROGRAM_H
#define TILEPOST_PROGRAM_H

#include "tilepost/tilepost.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Programs
// --------------------------------------------------------------------------------------

// Plans a spec. `fields` has `count` texts "path=value", such as "gemm.m=4096", "gemm.m={max:
// 8192}" and "schedule.tile=[128, 256]", which docs/spec.md describes; a field is given once.
// Fields that may be left out have their defaults. Here `tilepost`, the format, and `name` may be
// left out, too. A kernel of your own (`kernel`) is refused, because the tool has to read it.
//
// `machine` is the machine that is planned for: the name of one that tilepost knows, as "h200", or
// the text of a profile, as `tilepost list machine` prints it. Null: the default one.
//
// The program can be explained. It has no kernels until tilepost_program_load gives it some.
tilepost_result_t tilepost_program_make(const char* const* fields, size_t count,
                                        const char* machine, const tilepost_program_t** program);

// Frees a program that tilepost_program_make has made. No operation may use it any more. Null is
// allowed.
tilepost_result_t tilepost_program_destroy(const tilepost_program_t* program);

// The text of `tilepost explain` for the program, or the picture of its first plan, a document in
// SVG. The text is valid as long as the program.
tilepost_result_t tilepost_program_explain(const tilepost_program_t* program, const char** text);
tilepost_result_t tilepost_program_picture(const tilepost_program_t* program, const char** svg);

// Warnings of the planner, one line each; "" where there are none. Valid as long as the program.
tilepost_result_t tilepost_program_warnings(const tilepost_program_t* program, const char** text);

// The key of the kernel of plans[plan] in catalogues. Valid as long as the program.
tilepost_result_t tilepost_program_variant(const tilepost_program_t* program, int32_t plan,
                                           const char** key);

// ---- Catalogues
// ------------------------------------------------------------------------------------

// How kernels of GPUs are loaded. tilepost::plan knows nothing of CUDA, and so is told.
typedef struct tilepost_kernel_loader {
  size_t struct_size;  // sizeof(tilepost_kernel_loader_t)
  // Loads the only kernel of an image, which is a cubin of `bytes` bytes. Sets `function`
  // (tilepost_kernel_t::function) and `module`, which `unload` takes. `name` is what messages call
  // the image. Sets the text of tilepost_last_error() on failure.
  tilepost_result_t (*load)(const void* image, size_t bytes, const char* name,
                            const void** function, void** module);
  void (*unload)(void* module);
} tilepost_kernel_loader_t;

// Loads by cudaLibraryLoadData. The functions of such kernels are cudaKernel_t, which are valid on
// every device of the process. In tilepost::cuda.
const tilepost_kernel_loader_t* tilepost_cuda_kernel_loader(void);

typedef struct tilepost_catalogue* tilepost_catalogue_t;

// Opens the catalogue in a folder that `tilepost catalogue` has written. `loader` is null for the
// kernels of the host target alone, and tilepost_cuda_kernel_loader() for those of GPUs, too.
// TILEPOST_UNSUPPORTED: the catalogue is that of another version of tilepost.
tilepost_result_t tilepost_catalogue_open(const char* folder,
                                          const tilepost_kernel_loader_t* loader,
                                          tilepost_catalogue_t* catalogue);

// Closes a catalogue. Programs keep the kernels that they have from it. Null is allowed.
tilepost_result_t tilepost_catalogue_close(tilepost_catalogue_t catalogue);

// Gives every plan of the program its kernel. TILEPOST_UNSUPPORTED: the catalogue lacks a kernel;
// the text has its key. A program without all of its kernels is refused by tilepost_op_create.
// Call it once for a program, before operations are made of it.
tilepost_result_t tilepost_program_load(const tilepost_program_t* program,
                                        tilepost_catalogue_t catalogue);

// Plans a spec as tilepost_program_make does, and loads it. Where the catalogue lacks a kernel of
// that plan, plans again and chooses only among the kernels that the catalogue has: so a catalogue
// of few kernels serves many specs, some of them not at their best. TILEPOST_UNSUPPORTED: the
// catalogue has no kernel that can serve the spec; the text has the key of the one that would be
// best.
tilepost_result_t tilepost_program_make_from(const char* const* fields, size_t count,
                                             const char* machine, tilepost_catalogue_t catalogue,
                                             const tilepost_program_t** program);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_PROGRAM_H
