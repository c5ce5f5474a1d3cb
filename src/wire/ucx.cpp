#include "wire/ucx.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "wire/numbers.hpp"
#include "wire/session.hpp"

namespace couplet::wire {
namespace {

constexpr std::array<char, 4> introduction_magic = {'C', 'P', 'L', 'U'};
constexpr std::size_t head_version_at = 1;
constexpr std::size_t token_at = 8;
constexpr std::size_t number_at = 16;
constexpr std::size_t bytes_at = 24;
constexpr std::size_t introduction_version_at = 4;
constexpr std::size_t introduction_token_at = 8;
constexpr std::size_t introduction_flags_at = 5;
constexpr std::size_t introduction_node_at = 16;
constexpr std::size_t introduction_length_at = 24;

std::byte* data_of(std::string& text) noexcept {
  return reinterpret_cast<std::byte*>(text.data());
}
const std::byte* data_of(std::string_view text) noexcept {
  return reinterpret_cast<const std::byte*>(text.data());
}

}  // namespace

UcxHeadImage encode_ucx_head(const UcxHead& head) noexcept {
  UcxHeadImage image{};
  image[0] = static_cast<std::byte>(head.kind);
  image[head_version_at] = std::byte{ucx_version};
  put_little(image.data() + token_at, head.token);
  put_little(image.data() + number_at, head.number);
  put_little(image.data() + bytes_at, head.bytes);
  return image;
}

Result<UcxHead> decode_ucx_head(std::span<const std::byte> image) {
  if (image.size() != ucx_head_bytes || image[head_version_at] != std::byte{ucx_version}) {
    return fail(Code::protocol, "a head of {} bytes is none of version {}", image.size(), ucx_version);
  }
  UcxHead head;
  head.kind = static_cast<UcxKind>(image[0]);
  head.token = take_little<std::uint64_t>(image.data() + token_at);
  head.number = take_little<std::uint64_t>(image.data() + number_at);
  head.bytes = take_little<std::uint64_t>(image.data() + bytes_at);
  if (head.kind < UcxKind::hello || head.kind > UcxKind::credit) {
    return fail(Code::protocol, "a head of kind {}, which does not exist", std::to_integer<int>(image[0]));
  }
  return head;
}

std::string encode_ucx_introduction(const UcxIntroduction& introduction) {
  COUPLET_ASSERT(introduction.token != 0 && !introduction.worker.empty() &&
                 introduction.worker.size() <= max_ucx_address_bytes);
  std::string image(ucx_introduction_head_bytes, '\0');
  std::memcpy(image.data(), introduction_magic.data(), introduction_magic.size());
  data_of(image)[introduction_version_at] = std::byte{ucx_version};
  data_of(image)[introduction_flags_at] = introduction.shares_memory ? std::byte{1} : std::byte{0};
  put_little(data_of(image) + introduction_token_at, introduction.token);
  put_little(data_of(image) + introduction_node_at, introduction.node);
  put_little(data_of(image) + introduction_length_at, static_cast<std::uint32_t>(introduction.worker.size()));
  return image + introduction.worker;
}

Result<std::size_t> ucx_introduction_bytes(std::string_view image) {
  if (image.size() < ucx_introduction_head_bytes) {
    return std::size_t{0};
  }
  const auto version = std::to_integer<int>(data_of(image)[introduction_version_at]);
  const auto flags = std::to_integer<int>(data_of(image)[introduction_flags_at]);
  const auto length = take_little<std::uint32_t>(data_of(image) + introduction_length_at);
  if (std::memcmp(image.data(), introduction_magic.data(), introduction_magic.size()) != 0) {
    return fail(Code::protocol, "no introduction to a worker of UCX begins so");
  }
  if (version != ucx_version) {
    return fail(Code::version, "an introduction of version {}; this program uses version {}", version, ucx_version);
  }
  if (flags > 1 || image[introduction_flags_at + 1] != '\0' || image[introduction_flags_at + 2] != '\0') {
    return fail(Code::protocol, "an introduction with the flags {}, which do not exist", flags);
  }
  if (length == 0 || length > max_ucx_address_bytes) {
    return fail(Code::protocol, "an address of a worker of {} bytes; it has to have 1 to {}", length,
                max_ucx_address_bytes);
  }
  return ucx_introduction_head_bytes + length;
}

Result<UcxIntroduction> decode_ucx_introduction(std::string_view image) {
  COUPLET_TRY_VALUE(const std::size_t bytes, ucx_introduction_bytes(image));
  if (bytes == 0 || bytes != image.size()) {
    return fail(Code::protocol, "an introduction of {} bytes is not one of {}", image.size(), bytes);
  }
  UcxIntroduction introduction;
  introduction.token = take_little<std::uint64_t>(data_of(image) + introduction_token_at);
  introduction.shares_memory = image[introduction_flags_at] != '\0';
  introduction.node = take_little<std::uint64_t>(data_of(image) + introduction_node_at);
  introduction.worker = image.substr(ucx_introduction_head_bytes);
  if (introduction.token == 0) {
    return fail(Code::protocol, "an introduction with the token 0, which does not exist");
  }
  return introduction;
}

std::string encode_ucx_verdict(const UcxVerdict& verdict) {
  std::string why = verdict.is_reached ? std::string() : verdict.why.substr(0, max_ucx_reason_bytes);
  std::string image(ucx_verdict_head_bytes, '\0');
  image[0] = verdict.is_reached ? '\1' : '\0';
  put_little(data_of(image) + 2, static_cast<std::uint16_t>(why.size()));
  return image + why;
}

Result<std::size_t> ucx_verdict_bytes(std::string_view image) {
  if (image.size() < ucx_verdict_head_bytes) {
    return std::size_t{0};
  }
  const auto length = take_little<std::uint16_t>(data_of(image) + 2);
  const auto kind = static_cast<unsigned char>(image[0]);
  if (kind > 1 || image[1] != '\0' || length > max_ucx_reason_bytes || (kind == 1 && length != 0)) {
    return fail(Code::protocol, "a verdict of kind {} with {} bytes of text", kind, length);
  }
  return ucx_verdict_head_bytes + length;
}

Result<UcxVerdict> decode_ucx_verdict(std::string_view image) {
  COUPLET_TRY_VALUE(const std::size_t bytes, ucx_verdict_bytes(image));
  if (bytes == 0 || bytes != image.size()) {
    return fail(Code::protocol, "a verdict of {} bytes is not one of {}", image.size(), bytes);
  }
  UcxVerdict verdict;
  verdict.is_reached = image[0] == '\1';
  const auto why = image.substr(ucx_verdict_head_bytes);
  verdict.why = printable_reason(std::as_bytes(std::span(why.data(), why.size())));
  return verdict;
}

}  // namespace couplet::wire
