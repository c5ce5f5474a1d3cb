// Memory of the library that a language keeps after its handle is closed: arrays in Python live for as long as anything
// refers to them.
#include "capi/call.hpp"
#include "capi/private.h"
#include "capi/series.hpp"

using couplet::Status;
namespace capi = couplet::capi;

namespace {

using Keeper = std::shared_ptr<const void>;

Status give(Keeper kept, void** keeper) {
  *keeper = kept != nullptr ? new Keeper(std::move(kept)) : nullptr;
  return {};
}

}  // namespace

extern "C" {

couplet_status couplet_private_keep_area(const couplet_area* area, void** keeper) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::usable(area, "couplet_private_keep_area"));
    return give(area->area->keeper(), keeper);
  });
}

couplet_status couplet_private_keep_slots(const couplet_series* series, void** keeper) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::usable(series, "couplet_private_keep_slots"));
    if (!series->writer) {
      return capi::wrong_end("couplet_private_keep_slots", "reading");
    }
    return give(series->writer->file().keeper(), keeper);
  });
}

void couplet_private_let_go(void* keeper) {
  delete static_cast<Keeper*>(keeper);
}

}  // extern "C"
