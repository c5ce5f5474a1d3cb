#include "wire/lists.hpp"

#include <utility>

namespace couplet::wire {

void append_parcel(const MovingParcel& parcel, std::string& image) {
  std::array<std::byte, parcel_head_bytes> head;
  put_little(head.data(), parcel.from);
  put_little(head.data() + 4, parcel.to);
  put_little(head.data() + 8, std::uint64_t{parcel.bytes.size()});
  image.append(reinterpret_cast<const char*>(head.data()), head.size());
  image += parcel.bytes;
}

Status take_parcels(std::string_view image, std::int32_t size, std::vector<MovingParcel>& parcels) {
  const auto is_member = [size](std::int32_t rank) { return rank >= 0 && rank < size; };
  while (!image.empty()) {
    if (image.size() < parcel_head_bytes) return fail(Code::protocol, "a parcel ends within its head");
    const auto* const head = reinterpret_cast<const std::byte*>(image.data());
    MovingParcel parcel;
    parcel.from = take_little<std::int32_t>(head);
    parcel.to = take_little<std::int32_t>(head + 4);
    const auto bytes = take_little<std::uint64_t>(head + 8);
    image.remove_prefix(parcel_head_bytes);
    if (!is_member(parcel.from) || !is_member(parcel.to) || bytes > image.size()) {
      return fail(Code::protocol, "a parcel of {} bytes from rank {} to rank {} cannot be", bytes, parcel.from,
                  parcel.to);
    }
    parcel.bytes = image.substr(0, bytes);
    image.remove_prefix(bytes);
    parcels.push_back(std::move(parcel));
  }
  return {};
}

}  // namespace couplet::wire
