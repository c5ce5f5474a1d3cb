// Which receives a message fits. Used by arrive.cpp and receive.cpp. Tests: tests/unit/message.
#pragma once

#include "message/message.hpp"

namespace couplet::message {

// Is the receive `request` for messages with this context and tag? The source is not compared.
inline bool accepts(const Request& request, std::uint32_t context, std::int32_t tag) noexcept {
  return request.context == context && (request.tag == tag || request.tag == COUPLET_ANY_TAG);
}

}  // namespace couplet::message
