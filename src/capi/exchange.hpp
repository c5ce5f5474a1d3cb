// Exchanges that other handles are built on. Implementation: exchange.cpp.
#pragma once

#include "capi/call.hpp"

namespace couplet::capi {

// Makes an exchange among the ranks of the group, and its handle, which the universe owns. method: NULL means "auto".
// kind: what texts call it, "exchange" or "halo".
[[nodiscard]] Result<couplet_exchange*> make_exchange(couplet_group& group, const char* name, const char* kind,
                                                      const char* method, double timeout_s, const char* function);

}  // namespace couplet::capi
