// The transports there are, in order of preference.
#pragma once

#include "generator/plan/transports/transports.h"

namespace tilepost {

const Transport& none_transport();
const Transport& nccl_transport();
const Transport& nccl_symmetric_transport();
const Transport& host_copies_transport();
const Transport& copy_engine_transport();
const Transport& peer_transport();
const Transport& peer_tiles_transport();

}  // namespace tilepost
