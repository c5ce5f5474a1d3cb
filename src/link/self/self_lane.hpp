// self: a lane from a process to itself, over a ring in its own memory.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "link/link.hpp"
#include "wire/ring.hpp"

namespace couplet::link {

// Makes the lane. What is pushed is delivered by poll() of the same lane, never inside push(). Returns limit if the
// shape is out of bounds.
Result<std::unique_ptr<Lane>> make_self_lane(const wire::RingShape& shape = {});

}  // namespace couplet::link
