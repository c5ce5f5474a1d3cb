// What a collective call of writers or readers agrees on.
#pragma once

#include <string_view>

#include "base/status.hpp"
#include "message/agree.hpp"

namespace couplet::series {

// ok where every member brings ok. Otherwise a member that failed gets its own status back, and all others that of the first
// one that failed, with "<who> <rank>: " in front.
[[nodiscard]] Status agree_on_status(message::Team& team, const Status& own, std::string_view who,
                                     std::uint64_t deadline_ns);

}  // namespace couplet::series
