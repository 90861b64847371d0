// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
