#include "link/tcp/record_writer.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"

namespace couplet::link {

RecordWriter::Sealed RecordWriter::seal(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                        std::uint64_t at, std::byte* records) noexcept {
  Sealed sealed;
  if (at < wire::frame_header_bytes) {
    COUPLET_ASSERT(at == 0);  // the record of a header holds it as a whole
    wire::encode_frame(header, std::span(gathered_).first<wire::frame_header_bytes>());
    const std::size_t gathered = payload.size() <= max_gathered_bytes ? payload.size() : 0;
    if (gathered != 0) {
      std::memcpy(gathered_.data() + wire::frame_header_bytes, payload.data(), gathered);
    }
    sealed.frame_bytes = wire::frame_header_bytes + gathered;
    sealed.record_bytes = seal(std::span(gathered_).first(sealed.frame_bytes), records);
  }
  const std::uint64_t sent = at + sealed.frame_bytes - wire::frame_header_bytes;
  const std::size_t bytes = std::min<std::size_t>(payload.size() - sent, long_plain_bytes);
  if (bytes != 0) {
    sealed.record_bytes += seal(payload.subspan(sent, bytes), records + sealed.record_bytes);
    sealed.frame_bytes += bytes;
  }
  return sealed;
}

}  // namespace couplet::link
