#include "wire/relay_messages.hpp"

#include <cstring>

#include "wire/numbers.hpp"
#include "wire/series_format.hpp"

namespace couplet::wire {
namespace {

constexpr std::size_t subscribe_head_bytes = 48;
constexpr std::uint8_t flag_again = 1;
constexpr std::uint8_t flag_latest = 2;
constexpr std::uint8_t flag_reader = 4;
constexpr std::uint8_t flag_jumps = 8;
constexpr std::uint8_t all_subscription_flags = flag_again | flag_latest | flag_reader | flag_jumps;
constexpr std::size_t reader_bytes = 8;
constexpr std::size_t field_head_bytes = 8;
constexpr std::size_t most_dimensions = 8;
constexpr std::size_t most_fields = 64;

void append(std::vector<std::byte>& image, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  image.insert(image.end(), bytes.begin(), bytes.end());
}

std::string text_at(std::span<const std::byte> image, std::size_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::memcpy(text.data(), image.data() + offset, bytes);
  return text;
}

// Returns true for a plain name in the node directory, without folders.
bool plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name.find('\0') == std::string::npos && name[0] != '.';
}

}  // namespace

std::int32_t encode_wanted(const WantedSteps& wanted) noexcept {
  if (wanted.every > 1) {
    return wanted.every <= INT32_MAX ? -static_cast<std::int32_t>(wanted.every) : 0;
  }
  return wanted.share == whole_share ? 0 : static_cast<std::int32_t>(wanted.share);
}

Result<WantedSteps> decode_wanted(std::int32_t tag) {
  WantedSteps wanted;
  if (tag < -1) {
    wanted.every = static_cast<std::uint64_t>(-std::int64_t{tag});
  } else if (tag != 0) {
    if (tag < std::int32_t{min_share} || tag > std::int32_t{whole_share}) {
      return fail(Code::protocol, "a share of {} 65536ths of the steps; {} to {} is right", tag, min_share,
                  whole_share);
    }
    wanted.share = static_cast<std::uint32_t>(tag);
  }
  return wanted;
}

std::vector<std::byte> encode_subscribe(const Subscribe& subscribe) {
  std::vector<std::byte> image(subscribe_head_bytes + (subscribe.reader != 0 ? reader_bytes : 0));
  std::byte* const head = image.data();
  put_little(head, subscribe.incarnation);
  put_little(head + 2, subscribe.mode);
  put_little(head + 3, subscribe.from);
  put_little(head + 4,
             static_cast<std::uint8_t>((subscribe.again ? flag_again : 0) | (subscribe.latest ? flag_latest : 0) |
                                       (subscribe.reader != 0 ? flag_reader : 0) | (subscribe.jumps ? flag_jumps : 0)));
  put_little(head + 5, static_cast<std::uint8_t>(subscribe.fields.size()));
  put_little(head + 6, static_cast<std::uint8_t>(subscribe.file.size()));
  put_little(head + 7, static_cast<std::uint8_t>(subscribe.series.size()));
  put_little(head + 8, subscribe.from_step);
  put_little(head + 16, subscribe.next);
  put_little(head + 24, subscribe.window);
  put_little(head + 32, subscribe.program);
  put_little(head + 40, subscribe.series_incarnation);
  if (subscribe.reader != 0) {
    put_little(head + subscribe_head_bytes, subscribe.reader);
  }
  for (const SubscribedField& field : subscribe.fields) {
    const std::size_t at = image.size();
    image.resize(at + field_head_bytes + 16 * field.start.size());
    put_little(image.data() + at, field.field);
    put_little(image.data() + at + 1, static_cast<std::uint8_t>(field.start.size() / field.boxes));
    put_little(image.data() + at + 2, field.boxes);
    for (std::size_t number = 0; number < field.start.size(); ++number) {
      std::byte* const corner = image.data() + at + field_head_bytes + 16 * number;
      put_little(corner, field.start[number]);
      put_little(corner + 8, field.stop[number]);
    }
  }
  append(image, subscribe.file);
  append(image, subscribe.series);
  return image;
}

namespace {

// Takes the next field from the front of `image`.
Result<SubscribedField> take_field(std::span<const std::byte>& image) {
  if (image.size() < field_head_bytes) {
    return fail(Code::protocol, "a subscription ends in the middle of a field");
  }
  SubscribedField field;
  field.field = take_little<std::uint8_t>(image.data());
  const auto dimensions = take_little<std::uint8_t>(image.data() + 1);
  field.boxes = take_little<std::uint16_t>(image.data() + 2);
  const std::size_t numbers = std::size_t{dimensions} * field.boxes;
  if (dimensions == 0 || dimensions > most_dimensions || field.boxes == 0 || field.boxes > series_most_boxes ||
      image.size() < field_head_bytes + 16 * numbers) {
    return fail(Code::protocol, "a subscription cannot have {} boxes of {} dimensions", field.boxes, dimensions);
  }
  for (std::size_t number = 0; number < numbers; ++number) {
    const std::byte* const corner = image.data() + field_head_bytes + 16 * number;
    field.start.push_back(take_little<std::int64_t>(corner));
    field.stop.push_back(take_little<std::int64_t>(corner + 8));
  }
  image = image.subspan(field_head_bytes + 16 * numbers);
  return field;
}

}  // namespace

Result<Subscribe> decode_subscribe(std::span<const std::byte> image) {
  if (image.size() < subscribe_head_bytes) {
    return fail(Code::protocol, "a subscription has {} bytes, at least {} are needed", image.size(),
                subscribe_head_bytes);
  }
  const std::byte* const head = image.data();
  Subscribe subscribe;
  subscribe.incarnation = take_little<std::uint16_t>(head);
  subscribe.mode = take_little<std::uint8_t>(head + 2);
  subscribe.from = take_little<std::uint8_t>(head + 3);
  const auto flags = take_little<std::uint8_t>(head + 4);
  const auto fields = take_little<std::uint8_t>(head + 5);
  const auto file_bytes = take_little<std::uint8_t>(head + 6);
  const auto series_bytes = take_little<std::uint8_t>(head + 7);
  subscribe.again = (flags & flag_again) != 0;
  subscribe.latest = (flags & flag_latest) != 0;
  subscribe.jumps = (flags & flag_jumps) != 0;
  subscribe.from_step = take_little<std::int64_t>(head + 8);
  subscribe.next = take_little<std::uint64_t>(head + 16);
  subscribe.window = take_little<std::uint64_t>(head + 24);
  subscribe.program = take_little<std::uint64_t>(head + 32);
  subscribe.series_incarnation = take_little<std::uint64_t>(head + 40);
  if (flags > all_subscription_flags) {
    return fail(Code::protocol,
                "a subscription has the flags {}, of which this relay knows {}: the reader's release is newer than the "
                "relay's",
                flags, all_subscription_flags);
  }
  if (subscribe.mode >= relay_modes || subscribe.from >= relay_starts || fields == 0 || fields > most_fields ||
      file_bytes > longest_relay_name || series_bytes == 0 || series_bytes > longest_relay_name) {
    return fail(Code::protocol, "the mode, the start, the fields or the names of a subscription are not valid");
  }
  auto rest = image.subspan(subscribe_head_bytes);
  if ((flags & flag_reader) != 0) {
    if (rest.size() < reader_bytes || take_little<std::uint32_t>(rest.data()) == 0) {
      return fail(Code::protocol, "a subscription announces the number of its reader, but contains none");
    }
    subscribe.reader = take_little<std::uint32_t>(rest.data());
    rest = rest.subspan(reader_bytes);
  }
  for (unsigned count = 0; count < fields; ++count) {
    COUPLET_TRY_VALUE(auto field, take_field(rest));
    subscribe.fields.push_back(std::move(field));
  }
  if (rest.size() != std::size_t{file_bytes} + series_bytes) {
    return fail(Code::protocol, "a subscription announces {} bytes of names, but contains {}",
                file_bytes + series_bytes, rest.size());
  }
  subscribe.file = text_at(rest, 0, file_bytes);
  subscribe.series = text_at(rest, file_bytes, series_bytes);
  if (!plain_name(subscribe.file)) {
    return fail(Code::protocol, "a subscription to '{}', which is not the name of a file in a node directory",
                subscribe.file);
  }
  return subscribe;
}

void encode_accepted(const Accepted& accepted, std::span<std::byte, accepted_bytes> image) noexcept {
  put_little(image.data(), static_cast<std::uint32_t>(accepted.big_endian ? 1 : 0));
  put_little(image.data() + 4, static_cast<std::uint32_t>(accepted.writer_incarnation));
  put_little(image.data() + 8, accepted.published);
  put_little(image.data() + 16, accepted.step_bytes);
}

Result<Accepted> decode_accepted(std::span<const std::byte> image) {
  if (image.size() != accepted_bytes || take_little<std::uint32_t>(image.data()) > 1 ||
      take_little<std::uint32_t>(image.data() + 4) > UINT16_MAX) {
    return fail(Code::protocol, "an answer to a subscription is not valid ({} bytes)", image.size());
  }
  Accepted accepted;
  accepted.big_endian = take_little<std::uint32_t>(image.data()) == 1;
  accepted.writer_incarnation = take_little<std::uint16_t>(image.data() + 4);
  accepted.published = take_little<std::uint64_t>(image.data() + 8);
  accepted.step_bytes = take_little<std::uint64_t>(image.data() + 16);
  return accepted;
}

}  // namespace couplet::wire
