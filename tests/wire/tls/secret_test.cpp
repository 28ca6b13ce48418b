// SPDX-License-Identifier: Apache-2.0
#include "src/wire/tls/secret.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

namespace sinew::wire {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Secret, IsRandom) { EXPECT_NE(Secret::random().hex(), Secret::random().hex()); }

TEST(Secret, ReadsWhatItPrints) {
    Secret const secret = Secret::random();
    EXPECT_EQ(Secret::from_hex(secret.hex()).hex(), secret.hex());
    EXPECT_EQ(secret.hex().size(), 64u);
}

TEST(Secret, DerivesByHmac) {
    // HMAC-SHA-256, key 000102...1f, message "wire psk": computed with another implementation.
    Secret const secret =
        Secret::from_hex("000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F");
    EXPECT_EQ(secret.derive("wire psk").hex(),
              "44d50f65cacd9126dc1c40dbc1398fe38fbe58daf67399877389de14e5bc7be0");
    EXPECT_NE(secret.derive("data plane 3").hex(), secret.derive("wire psk").hex());
}

TEST(Secret, IsNotRepeatedInErrors) {
    std::string const almost(63, 'a');
    for (auto const& text : {almost, almost + "g", almost + "aa", std::string()}) {
        try {
            (void)Secret::from_hex(text);
            ADD_FAILURE() << text;
        } catch (UsageError const& error) {
            EXPECT_THAT(error.what(), Not(HasSubstr("aaaa")));
            EXPECT_THAT(error.what(), HasSubstr("64 hexadecimal digits"));
        }
    }
}

}  // namespace
}  // namespace sinew::wire
