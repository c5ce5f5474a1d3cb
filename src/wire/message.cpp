#include "wire/message.hpp"

#include <cstring>

namespace couplet::wire {
namespace {

template <typename Number>
void put_number(std::byte* target, Number number) noexcept {
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    target[index] = static_cast<std::byte>(number >> (8 * index));
  }
}

template <typename Number>
Number take_number(const std::byte* source) noexcept {
  Number number = 0;
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    number |= static_cast<Number>(static_cast<Number>(source[index]) << (8 * index));
  }
  return number;
}

}  // namespace

void encode_envelope(const Envelope& envelope, std::span<std::byte, envelope_bytes> image) noexcept {
  put_number(image.data(), envelope.address);
  put_number(image.data() + 8, envelope.nonce_address);
  std::memcpy(image.data() + 16, envelope.nonce.data(), envelope.nonce.size());
  put_number(image.data() + 32, envelope.process);
  put_number(image.data() + 36, std::uint32_t{0});
}

Result<Envelope> decode_envelope(std::span<const std::byte> image) {
  if (image.size() != envelope_bytes) {
    return fail(Code::protocol, "an envelope has {} bytes; it must have {}", image.size(), envelope_bytes);
  }
  if (take_number<std::uint32_t>(image.data() + 36) != 0) {
    return fail(Code::protocol, "reserved bytes of an envelope are not 0");
  }
  Envelope envelope;
  envelope.address = take_number<std::uint64_t>(image.data());
  envelope.nonce_address = take_number<std::uint64_t>(image.data() + 8);
  std::memcpy(envelope.nonce.data(), image.data() + 16, envelope.nonce.size());
  envelope.process = take_number<std::uint32_t>(image.data() + 32);
  return envelope;
}

}  // namespace couplet::wire
