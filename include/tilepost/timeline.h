// Measured timelines of runs on GPUs: when the tiles of each group were computed, and when the
// group was communicated. They are for programs that `tilepost generate --timestamps` has made.
// `tilepost explain --measured` shows them beside the prediction.
#ifndef TILEPOST_TIMELINE_H
#define TILEPOST_TIMELINE_H

#include "tilepost/tilepost.h"

#ifdef __cplusplus
extern "C" {
#endif

// Lets the operation's runs from here on note their times on the device, eager runs and those that
// are captured from here on. The notes take small kernels on the run's streams, so that runs become
// somewhat slower. TILEPOST_UNSUPPORTED on the host target, whose threads have no device's clock.
tilepost_result_t tilepost_op_record_timeline(tilepost_op_t op);

// Waits for the operation's runs, as tilepost_op_synchronize does, and writes the times of the one
// that began last to the file `path`, as JSON. Each rank writes a file of its own. Of an operation
// with kernels for ranges of m it is the last one of the range whose run was called or captured
// last. TILEPOST_INVALID_ARGUMENT if no run was recorded, if a replayed graph has not ended or was
// captured before tilepost_op_record_timeline, if the program was generated without --timestamps,
// or if the file cannot be written.
tilepost_result_t tilepost_op_write_timeline(tilepost_op_t op, const char* path);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_TIMELINE_H
