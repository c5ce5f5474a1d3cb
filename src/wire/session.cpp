#include "wire/session.hpp"

#include "wire/numbers.hpp"

namespace couplet::wire {

SessionImage encode_session(const SessionNotice& notice) noexcept {
  SessionImage image;
  put_little(image.data(), notice.session);
  put_little(image.data() + 8, notice.peer_session);
  put_little(image.data() + 16, notice.received);
  return image;
}

Result<SessionNotice> decode_session(std::span<const std::byte> payload) {
  if (payload.size() != session_bytes) {
    return fail(Code::protocol, "a session frame has {} bytes, not {}", payload.size(), session_bytes);
  }
  const SessionNotice notice{.session = take_little<std::uint64_t>(payload.data()),
                             .peer_session = take_little<std::uint64_t>(payload.data() + 8),
                             .received = take_little<std::uint64_t>(payload.data() + 16)};
  if (notice.session == 0) {
    return fail(Code::protocol, "a session frame names session 0, which does not exist");
  }
  return notice;
}

std::string printable_reason(std::span<const std::byte> payload) {
  std::string text;
  for (const std::byte byte : payload) {
    const auto character = std::to_integer<unsigned char>(byte);
    text += character < 0x20 || character == 0x7F ? '?' : static_cast<char>(character);
  }
  return text;
}

}  // namespace couplet::wire
