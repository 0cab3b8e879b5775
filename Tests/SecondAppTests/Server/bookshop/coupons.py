"""Another backend: {"code":"E1001","success":false,"message":"…"} with status 200, and a property list."""

import json
import plistlib

from django.http import HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

REFUSALS = {"": ("E1000", "Enter a coupon."), "SUMMER": ("E1001", "This coupon has expired.")}


@csrf_exempt
def coupons(request):
    name = json.loads(request.body or "{}").get("coupon", "")
    code, message = REFUSALS.get(name, ("OK", "The coupon has been added."))
    response = {"code": code, "success": code == "OK", "message": message}
    if code == "OK":
        response["data"] = {"coupon": name, "percent": 10}
    return JsonResponse(response)


@csrf_exempt
def shipping(request):
    """Receives and responses property lists."""
    weight = plistlib.loads(request.body)["grams"]
    return HttpResponse(plistlib.dumps({"cents": 300 + weight // 10}), content_type="application/x-plist")
