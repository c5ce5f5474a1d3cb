#include "wire/task_letter.hpp"

#include <bit>
#include <cstring>

#include "base/types.hpp"

namespace couplet::wire {
namespace {

template <typename Number>
void put(std::string& image, Number number) {
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    image.push_back(static_cast<char>((number >> (8 * index)) & 0xFF));
  }
}

template <typename Number>
Number take(std::string_view image, std::size_t offset) noexcept {
  std::uint64_t number = 0;
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    number |= std::uint64_t{static_cast<unsigned char>(image[offset + index])} << (8 * index);
  }
  return static_cast<Number>(number);
}

bool known(std::uint8_t kind) noexcept {
  return (kind >= static_cast<std::uint8_t>(LetterKind::submit) &&
          kind <= static_cast<std::uint8_t>(LetterKind::withdraw)) ||
         (kind >= static_cast<std::uint8_t>(LetterKind::ask) && kind <= static_cast<std::uint8_t>(LetterKind::served));
}

}  // namespace

std::string encode_letter(const Letter& letter) {
  std::string image;
  image.reserve(letter_head_bytes + 8 * letter.numbers.size() + letter.text.size() + letter.payload.size());
  put(image, letter_magic);
  put(image, static_cast<std::uint8_t>(letter.kind));
  put(image, static_cast<std::uint8_t>(letter.big_endian ? 1 : 0));
  put(image, std::uint16_t{0});
  put(image, letter.space);
  put(image, letter.number);
  put(image, static_cast<std::uint32_t>(letter.worker));
  put(image, static_cast<std::uint32_t>(letter.source));
  put(image, static_cast<std::uint32_t>(letter.code));
  put(image, static_cast<std::uint32_t>(letter.type));
  put(image, static_cast<std::uint32_t>(letter.numbers.size()));
  put(image, static_cast<std::uint32_t>(letter.text.size()));
  put(image, static_cast<std::uint64_t>(letter.payload.size()));
  for (const std::int64_t number : letter.numbers) {
    put(image, static_cast<std::uint64_t>(number));
  }
  image += letter.text;
  image += letter.payload;
  return image;
}

Result<Letter> decode_letter(std::string_view image) {
  if (image.size() < letter_head_bytes || take<std::uint32_t>(image, 0) != letter_magic) {
    return fail(Code::protocol, "{} bytes that are not a message of a task or an area", image.size());
  }
  const auto kind = take<std::uint8_t>(image, 4);
  const auto order = take<std::uint8_t>(image, 5);
  const auto number_count = take<std::uint32_t>(image, 40);
  const auto text_bytes = take<std::uint32_t>(image, 44);
  const auto payload_bytes = take<std::uint64_t>(image, 48);
  if (!known(kind) || order > 1 || take<std::uint16_t>(image, 6) != 0 || number_count > largest_letter_numbers ||
      text_bytes > largest_letter_text) {
    return fail(Code::protocol, "a task message of kind {} cannot have {} numbers and {} bytes of text", kind,
                number_count, text_bytes);
  }
  const std::uint64_t rest = image.size() - letter_head_bytes;
  const std::uint64_t before_payload = std::uint64_t{8} * number_count + text_bytes;
  if (rest < before_payload || rest - before_payload != payload_bytes) {
    return fail(Code::protocol, "a task message has {} bytes, but announces {} + {}", image.size(),
                letter_head_bytes + before_payload, payload_bytes);
  }
  Letter letter;
  letter.kind = static_cast<LetterKind>(kind);
  letter.big_endian = order == 1;
  letter.space = take<std::uint64_t>(image, 8);
  letter.number = take<std::uint64_t>(image, 16);
  letter.worker = take<std::int32_t>(image, 24);
  letter.source = take<std::int32_t>(image, 28);
  letter.code = take<std::int32_t>(image, 32);
  letter.type = take<std::int32_t>(image, 36);
  const TypeInfo* type = find_type(letter.type);
  if (type == nullptr || payload_bytes % type->element_bytes != 0) {
    return fail(Code::protocol, "a task message cannot have a payload of {} bytes of type {}", payload_bytes,
                letter.type);
  }
  if (letter.code < 0 && std::string_view(code_name(letter.code)) == "unknown") {
    return fail(Code::protocol, "a task message with the unknown status {}", letter.code);
  }
  letter.numbers.reserve(number_count);
  for (std::uint32_t index = 0; index < number_count; ++index) {
    letter.numbers.push_back(take<std::int64_t>(image, letter_head_bytes + std::size_t{8} * index));
  }
  letter.text.assign(image, letter_head_bytes + std::size_t{8} * number_count, text_bytes);
  letter.payload.assign(image, static_cast<std::size_t>(letter_head_bytes + before_payload));
  return letter;
}

}  // namespace couplet::wire
