import hashlib
from collections import Counter

from django.contrib.auth import login, logout
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect, ensure_csrf_cookie
from rest_framework import generics, serializers, status
from rest_framework.authentication import SessionAuthentication, TokenAuthentication
from rest_framework.authtoken.models import Token
from rest_framework.authtoken.serializers import AuthTokenSerializer
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle, UserRateThrottle
from rest_framework.views import APIView

from bookshop.models import Book


def user_of(request):
    serializer = AuthTokenSerializer(data=request.data, context={"request": request})
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data["user"]


@method_decorator([ensure_csrf_cookie, csrf_protect], name="dispatch")
class SessionView(APIView):
    """GET sets the CSRF cookie, POST signs in, DELETE signs out; the last two need the CSRF header."""

    authentication_classes = [SessionAuthentication]
    permission_classes = [AllowAny]

    def get(self, request):
        return Response({"username": request.user.username})

    def post(self, request):
        user = user_of(request)
        login(request._request, user)
        return Response({"username": user.username})

    def delete(self, request):
        logout(request._request)
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokenView(APIView):
    """POST signs in, DELETE revokes the token on all devices."""

    authentication_classes = [TokenAuthentication]

    def get_permissions(self):
        return [AllowAny() if self.request.method == "POST" else IsAuthenticated()]

    def get_authenticators(self):
        # An old token must not keep a user from signing in.
        return [] if self.request.method == "POST" else super().get_authenticators()

    def post(self, request):
        return Response({"token": Token.objects.get_or_create(user=user_of(request))[0].key})

    def delete(self, request):
        request.auth.delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class BookSerializer(serializers.ModelSerializer):
    class Meta:
        model = Book
        fields = ["id", "shelf", "title", "isbn", "cents"]


class NewBookView(generics.CreateAPIView):
    authentication_classes = [SessionAuthentication]
    serializer_class = BookSerializer


class BookView(generics.RetrieveUpdateDestroyAPIView):
    authentication_classes = [SessionAuthentication]
    serializer_class = BookSerializer
    queryset = Book.objects.all()

    def check_object_permissions(self, request, book):
        if request.method != "GET" and book.shelf == "main":
            raise PermissionDenied("Only drafts can be edited.")


class PictureView(APIView):
    authentication_classes = [SessionAuthentication]

    def put(self, request):
        picture = request.FILES.get("picture")
        if picture is None:
            raise serializers.ValidationError({"picture": ["No file was submitted."]})
        digest = hashlib.sha256()
        for chunk in picture.chunks():
            digest.update(chunk)
        return Response(
            {
                "name": picture.name,
                "type": picture.content_type,
                "size": picture.size,
                "sha256": digest.hexdigest(),
                "caption": request.data.get("caption", ""),
            }
        )


def key_of(request):
    """Returns the key by which a test counts its own requests, however often it runs."""
    return request.query_params.get("key") or request.data["key"]


class OrderThrottle(BaseThrottle):
    """Refuses the second request with a key, at whatever time it is made."""

    requests = Counter()

    def allow_request(self, request, view):
        key = key_of(request)
        self.requests[key] += 1
        return self.requests[key] != 2

    def wait(self):
        return 1

    @classmethod
    def refusals(cls, request):
        return int(cls.requests[key_of(request)] >= 2)


class OrderView(APIView):
    """Responses 429 with Retry-After to the second request with a key."""

    authentication_classes = [TokenAuthentication]
    throttle_classes = [OrderThrottle]

    def get(self, request):
        return Response({"refusals": OrderThrottle.refusals(request)})

    def post(self, request):
        refusals = OrderThrottle.refusals(request)
        return Response({"book": request.data["book"], "refusals": refusals}, status=status.HTTP_201_CREATED)


class ReportThrottle(UserRateThrottle):
    scope = "reports"
    rate = "1/hour"

    def get_cache_key(self, request, view):
        return f"{super().get_cache_key(request, view)}_{key_of(request)}"


class ReportView(APIView):
    """Responses 429 with a long Retry-After to the second request with a key."""

    authentication_classes = [TokenAuthentication]
    throttle_classes = [ReportThrottle]

    def get(self, request):
        return Response({"books": Book.objects.count()})
