#include "wire/task_message.hpp"

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
  return (kind >= static_cast<std::uint8_t>(TaskMessageKind::submit) &&
          kind <= static_cast<std::uint8_t>(TaskMessageKind::opened)) ||
         (kind >= static_cast<std::uint8_t>(TaskMessageKind::ask) &&
          kind <= static_cast<std::uint8_t>(TaskMessageKind::served));
}

// Returns the text, or what a message can hold of it and a sign that its end is missing.
std::string cut(const std::string& text) {
  if (text.size() <= largest_task_message_text) {
    return text;
  }
  constexpr std::string_view sign = " ... (cut)";
  std::size_t bytes = largest_task_message_text - sign.size();
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) {  // inside a character
    --bytes;
  }
  return text.substr(0, bytes).append(sign);
}

}  // namespace

std::string encode_task_message(const TaskMessage& message) {
  const std::string text = cut(message.text);
  std::string image;
  image.reserve(task_message_head_bytes + 8 * message.numbers.size() + text.size() + message.payload.size());
  put(image, task_message_magic);
  put(image, static_cast<std::uint8_t>(message.kind));
  put(image, static_cast<std::uint8_t>(message.big_endian ? 1 : 0));
  put(image, std::uint16_t{0});
  put(image, message.space);
  put(image, message.number);
  put(image, static_cast<std::uint32_t>(message.worker));
  put(image, static_cast<std::uint32_t>(message.source));
  put(image, static_cast<std::uint32_t>(message.code));
  put(image, static_cast<std::uint32_t>(message.type));
  put(image, static_cast<std::uint32_t>(message.numbers.size()));
  put(image, static_cast<std::uint32_t>(text.size()));
  put(image, static_cast<std::uint64_t>(message.payload.size()));
  for (const std::int64_t number : message.numbers) {
    put(image, static_cast<std::uint64_t>(number));
  }
  image += text;
  image += message.payload;
  return image;
}

Result<TaskMessage> decode_task_message(std::string_view image) {
  if (image.size() < task_message_head_bytes || take<std::uint32_t>(image, 0) != task_message_magic) {
    return fail(Code::protocol, "{} bytes that are not a message of a task or an area", image.size());
  }
  const auto kind = take<std::uint8_t>(image, 4);
  const auto order = take<std::uint8_t>(image, 5);
  const auto number_count = take<std::uint32_t>(image, 40);
  const auto text_bytes = take<std::uint32_t>(image, 44);
  const auto payload_bytes = take<std::uint64_t>(image, 48);
  if (!known(kind) || order > 1 || take<std::uint16_t>(image, 6) != 0 || number_count > largest_task_message_numbers ||
      text_bytes > largest_task_message_text) {
    return fail(Code::protocol, "a task message of kind {} cannot have {} numbers and {} bytes of text", kind,
                number_count, text_bytes);
  }
  const std::uint64_t rest = image.size() - task_message_head_bytes;
  const std::uint64_t before_payload = std::uint64_t{8} * number_count + text_bytes;
  if (rest < before_payload || rest - before_payload != payload_bytes) {
    return fail(Code::protocol, "a task message has {} bytes, but announces {} + {}", image.size(),
                task_message_head_bytes + before_payload, payload_bytes);
  }
  TaskMessage message;
  message.kind = static_cast<TaskMessageKind>(kind);
  message.big_endian = order == 1;
  message.space = take<std::uint64_t>(image, 8);
  message.number = take<std::uint64_t>(image, 16);
  message.worker = take<std::int32_t>(image, 24);
  message.source = take<std::int32_t>(image, 28);
  message.code = take<std::int32_t>(image, 32);
  message.type = take<std::int32_t>(image, 36);
  const TypeInfo* type = find_type(message.type);
  if (type == nullptr || payload_bytes % type->element_bytes != 0) {
    return fail(Code::protocol, "a task message cannot have a payload of {} bytes of type {}", payload_bytes,
                message.type);
  }
  if (message.code < 0 && std::string_view(code_name(message.code)) == "unknown") {
    return fail(Code::protocol, "a task message with the unknown status {}", message.code);
  }
  message.numbers.reserve(number_count);
  for (std::uint32_t index = 0; index < number_count; ++index) {
    message.numbers.push_back(take<std::int64_t>(image, task_message_head_bytes + std::size_t{8} * index));
  }
  message.text.assign(image, task_message_head_bytes + std::size_t{8} * number_count, text_bytes);
  message.payload.assign(image, static_cast<std::size_t>(task_message_head_bytes + before_payload));
  return message;
}

}  // namespace couplet::wire
